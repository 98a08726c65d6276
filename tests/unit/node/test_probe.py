"""Probes that were sent along run under the Python that is named, and leave neither files nor processes."""

import sys
import tempfile
from pathlib import Path

import pytest
import toys

from dsv4deploy.node.probe import probe
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.rim.local_node import installable

MAIN = "dsv4deploy/probes/__main__.py"
WORKING = (
    "import pathlib, sys\nprint('one line', file=sys.stderr)\npathlib.Path(sys.argv[1]).write_text('{\"a\": 1}')\n"
)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


SOURCES = {"dsv4deploy/__init__.py": "", "dsv4deploy/probes/__init__.py": ""}


def asked(main: str, **more: object) -> dict[str, object]:
    return probe({"python": sys.executable, "sources": {**SOURCES, MAIN: main}, **more})


def test_the_answer_holds_the_document_and_what_was_said(scratch: Path) -> None:
    assert asked(WORKING) == {"changed": False, "document": {"a": 1}, "said": ["one line"]}
    assert list(scratch.iterdir()) == []


def test_patches_of_a_bundle_are_laid_over_a_copy_that_goes_again(engine: Path, tmp_path: Path, scratch: Path) -> None:
    toys.overlay(tmp_path)
    bundle = toys.bundle(tmp_path, engine, "mma")[1]
    says = "import json, os, pathlib, sys\nfrom sglang.attention import decode\n"
    says += "told = {'kernel': decode(), 'trial': os.path.exists('trials/mma.py')}\n"
    says += "pathlib.Path(sys.argv[1]).write_text(json.dumps(told))"
    before = toys.fingerprint(engine)
    sources = {**SOURCES, MAIN: says, "trials/mma.py": ""}
    answer = probe({**installable(bundle), "python": str(engine / "bin/python"), "sources": sources})
    assert answer["document"] == {"kernel": "patched 1", "trial": True}
    assert toys.fingerprint(engine) == before
    assert not list(scratch.glob("dsv4deploy-probes-*"))


def test_a_python_that_cannot_is_told_with_its_last_words() -> None:
    with pytest.raises(Trouble, match="cannot run the probes: no torch here"):
        asked("raise SystemExit('no torch here')")


def test_a_python_that_is_not_there_is_named() -> None:
    with pytest.raises(Trouble, match="no Python at '/nowhere/python'"):
        probe({"python": "/nowhere/python"})


def test_what_does_not_end_is_ended(scratch: Path) -> None:
    with pytest.raises(Trouble, match=r"not over after 0\.5 s"):
        asked("import time\ntime.sleep(1000)", limit_s=0.5)
    assert list(scratch.iterdir()) == []
