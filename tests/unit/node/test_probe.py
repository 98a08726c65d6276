"""Probes that were sent along run under the Python that is named, and leave neither files nor processes."""

import sys
import tempfile
from pathlib import Path

import pytest

from dsv4deploy.node.probe import probe
from dsv4deploy.node.trouble import Trouble

MAIN = "dsv4deploy/probes/__main__.py"
WORKING = (
    "import pathlib, sys\nprint('one line', file=sys.stderr)\npathlib.Path(sys.argv[1]).write_text('{\"a\": 1}')\n"
)


@pytest.fixture(autouse=True)
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def asked(main: str, **more: object) -> dict[str, object]:
    sources = {"dsv4deploy/__init__.py": "", "dsv4deploy/probes/__init__.py": "", MAIN: main}
    return probe({"python": sys.executable, "sources": sources, **more})


def test_the_answer_holds_the_document_and_what_was_said(scratch: Path) -> None:
    assert asked(WORKING) == {"changed": False, "document": {"a": 1}, "said": ["one line"]}
    assert list(scratch.iterdir()) == []


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
