"""The kept byte code of templates changes nothing of what is rendered, whatever became of it."""

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from jinja2 import DictLoader, Environment

from dsv4deploy.rim.shipped import Compiled


def lost(kept: Path) -> None:
    kept.unlink()


def cut(kept: Path) -> None:
    kept.write_bytes(kept.read_bytes()[:-9])


def of_others(kept: Path) -> None:
    kept.write_bytes(b"something else")


def empty(kept: Path) -> None:
    kept.write_bytes(b"")


def in_the_way(kept: Path) -> None:
    kept.unlink()
    kept.mkdir()


def rendered(folder: Path, template: str = "of {{ name }}") -> str:
    engine = Environment(loader=DictLoader({"one": template}), autoescape=True, bytecode_cache=Compiled(folder))
    return engine.get_template("one").render(name="all")


@pytest.fixture(autouse=True)
def keeping(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)


def test_a_template_is_compiled_once_and_again_when_it_changes(tmp_path: Path) -> None:
    assert rendered(tmp_path) == "of all"
    (kept,) = tmp_path.iterdir()
    before = kept.stat().st_ino
    assert rendered(tmp_path) == "of all"
    assert kept.stat().st_ino == before
    assert rendered(tmp_path, "for {{ name }}") == "for all"
    assert kept.stat().st_ino != before


@pytest.mark.parametrize("harm", [lost, cut, of_others, empty, in_the_way])
def test_what_is_broken_counts_as_none(tmp_path: Path, harm: Callable[[Path], None]) -> None:
    rendered(tmp_path)
    (kept,) = tmp_path.iterdir()
    harm(kept)
    assert rendered(tmp_path) == "of all"


def test_a_folder_that_cannot_be_written_is_done_without(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    assert rendered(tmp_path / "file") == "of all"


def test_none_is_kept_where_python_keeps_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    assert rendered(tmp_path) == "of all"
    assert not [*tmp_path.iterdir()]
