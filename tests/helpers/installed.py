"""The SGLang that is installed beside the Python that DSV4DEPLOY_TEST_SGLANG_PYTHON names; tests/fleet/sglang/layer.sh makes one."""

import os
from pathlib import Path

import pytest

PYTHON = os.environ.get("DSV4DEPLOY_TEST_SGLANG_PYTHON", "")
needed = pytest.mark.skipif(not PYTHON, reason="needs DSV4DEPLOY_TEST_SGLANG_PYTHON, a Python with SGLang 0.5.23")


def search_path() -> str:
    """The value of PYTHONPATH with which it can be imported: without a GPU some packages have stand-ins beside its venv."""
    stubs = Path(PYTHON).parents[2] / "stubs"
    return str(stubs) if stubs.is_dir() else os.environ.get("PYTHONPATH", "")


def with_stand_ins(path: Path) -> Path:
    """A program at `path` that is this Python and finds the stand-ins even when it is told to look nowhere (`-I`)."""
    path.write_text(f'#!/bin/sh\nshift\nPYTHONPATH={search_path()} exec {PYTHON} "$@"\n', encoding="utf-8")
    path.chmod(0o755)
    return path
