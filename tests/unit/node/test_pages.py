"""A log is read in pages: nothing twice, nothing lost when it is rotated, no half line."""

import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from dsv4deploy.node.pages import of_file


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "server.log"
    path.write_text("one\ntwo\nthree\n")
    return path


def add(log: Path, text: str) -> None:
    with log.open("a") as out:
        out.write(text)


def test_the_first_page_has_the_last_lines_and_the_next_what_came_since(log: Path) -> None:
    page = of_file(log, 2, None, None)
    assert page.lines == ["two", "three"]
    assert of_file(log, 2, None, page.mark).lines == []
    add(log, "four\nfive\nsix\nse")
    page = of_file(log, 2, None, page.mark)
    assert page.lines == ["four", "five", "six"]
    add(log, "ven\n")
    assert of_file(log, 2, None, page.mark).lines == ["seven"]


def renamed(log: Path) -> None:
    log.rename(f"{log}.1")


def emptied(log: Path) -> None:
    shutil.copy(log, f"{log}.1")
    os.truncate(log, 0)


@pytest.mark.parametrize("rotated", [renamed, emptied])
def test_a_rotation_between_two_pages_loses_nothing(log: Path, rotated: Callable[[Path], None]) -> None:
    page = of_file(log, 9, None, None)
    add(log, "four\n")
    rotated(log)
    add(log, "five\n")
    assert of_file(log, 9, None, page.mark).lines == ["four", "five"]


def test_a_log_that_is_not_there_yet_is_empty(log: Path) -> None:
    assert of_file(log.with_name("none"), 9, None, None) == ([], None)


def test_a_time_cuts_at_the_first_line_that_was_stamped_later(log: Path) -> None:
    def at(ago_s: float) -> str:
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(time.time() - ago_s))

    add(log, f"[{at(600)} TP0] old\ntraceback\n[{at(30)} TP0] new\nits second line\n")
    page = of_file(log, 9, time.time() - 60, None)
    assert [line.rpartition("] ")[2] for line in page.lines] == ["new", "its second line"]
    assert of_file(log, 9, time.time() + 60, None).lines == []
