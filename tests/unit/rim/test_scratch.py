"""Folders that are needed for a while are gone afterwards, however the while ended."""

import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim import scratch

HOLD = """
from dsv4deploy.rim import scratch
with scratch.folder("held") as folder:
    (folder / "some").write_text("thing")
    print(folder, flush=True)
    input()
"""


@pytest.fixture(autouse=True)
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    yield tmp_path
    monkeypatch.setattr(tempfile, "tempdir", None)


def held() -> tuple[subprocess.Popen[str], Path]:
    running = subprocess.Popen(
        [sys.executable, "-c", HOLD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert running.stdout
    return running, Path(running.stdout.readline().strip())


def end(running: subprocess.Popen[str], number: int) -> None:
    running.send_signal(number)
    running.communicate()


def test_a_folder_is_private_and_gone_afterwards() -> None:
    with scratch.folder("work") as folder:
        assert (folder.stat().st_mode & 0o777, folder.parent.stat().st_mode & 0o777) == (0o700, 0o700)
        (folder / "deep").mkdir()
    assert not folder.exists()


def test_a_folder_is_gone_after_a_failure() -> None:
    with pytest.raises(ValueError, match="of the work"), scratch.folder("work") as folder:
        raise ValueError("of the work")
    assert not folder.exists()


def test_what_a_killed_owner_left_is_removed_by_the_next(place: Path) -> None:
    running, left = held()
    end(running, signal.SIGKILL)
    assert (left / "some").exists()
    with scratch.folder("work") as mine:
        assert [path for path in place.rglob("*") if path.is_dir()] == [mine.parent, mine]


def test_what_a_living_owner_holds_stays() -> None:
    running, theirs = held()
    with scratch.folder("work") as mine, scratch.folder("more") as more:
        assert (theirs / "some").exists()
        assert mine.exists()
        assert more.exists()
    end(running, signal.SIGINT)
    assert not theirs.exists()


def test_a_place_that_is_no_folder_of_ours_is_told(place: Path) -> None:
    with scratch.folder("work") as folder:
        name = folder.parent.name
    (place / name).rmdir()
    (place / name).symlink_to(place)
    with pytest.raises(Trouble, match="is not ours"), scratch.folder("work"):
        pass
