"""Folders for the length of one piece of work, all in one place, where the next run removes what a killed one left."""

import contextlib
import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dsv4deploy.model.trouble import Trouble

_ELSEWHERE = "name another folder for what is needed only for a while: TMPDIR"


@contextmanager
def folder(purpose: str) -> Iterator[Path]:
    """A private folder that is gone afterwards, also when the work failed or was interrupted.

    Its owner holds a lock on it, which the kernel takes back even from an owner that was killed: a folder that
    can be locked belongs to nobody any more, whichever container it was that shares the place with us.

    Raises:
        Trouble: there is no place for it.
    """
    mine, lock = _made(_place(), purpose)
    try:
        yield mine
    finally:
        shutil.rmtree(mine, ignore_errors=True)
        os.close(lock)


def _made(place: Path, purpose: str) -> tuple[Path, int]:
    try:
        with _locked(place):  # nobody tidies between the making of a folder and its lock
            _tidy(place)
            mine = Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=place))
            return mine, _lock(mine)
    except OSError as error:
        raise Trouble(f"nothing can be made and locked in {place}: {error.strerror}", _ELSEWHERE) from None


def _place() -> Path:
    place = Path(tempfile.gettempdir(), f"dsv4deploy-{os.geteuid()}")
    try:
        place.mkdir(mode=0o700, exist_ok=True)
        found = place.lstat()
    except OSError as error:
        raise Trouble(f"{place} cannot be made: {error.strerror}", _ELSEWHERE) from None
    # In a folder that all may write to, somebody else could have come first.
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
        raise Trouble(f"{place} is not ours", _ELSEWHERE)
    return place


def _tidy(place: Path) -> None:
    for one in place.iterdir():
        with contextlib.suppress(OSError), _locked(one, fcntl.LOCK_NB):
            shutil.rmtree(one, ignore_errors=True)


@contextmanager
def _locked(path: Path, how: int = 0) -> Iterator[None]:
    lock = _lock(path, how)
    try:
        yield
    finally:
        os.close(lock)


def _lock(path: Path, how: int = 0) -> int:
    """Lock `path` for as long as the answered handle is open."""
    handle = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | how)
    except OSError:
        os.close(handle)
        raise
    return handle
