"""A log in pages: the last lines of it, or what was written since the page before, of a file or of a unit's journal.

A page ends at a line break, and its `mark` says where the next one begins.
"""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import Any, NamedTuple

from dsv4deploy.node.logs import STAMP

_BYTES = 8 << 20
_STAMPED = "%Y-%m-%d %H:%M:%S"
_CURSOR = "-- cursor: "


class Page(NamedTuple):
    """Lines, the oldest first, and the mark at their end."""

    lines: list[str]
    mark: Any


def of_file(path: Path, lines: int, since: float | None, mark: Any) -> Page:  # noqa: ANN401 (a mark is JSON)
    """A page of a log file; `since` is a Unix time, told from what the engine stamps on its lines."""
    try:
        with path.open("rb") as source:
            known, size = os.fstat(source.fileno()), source.seek(0, os.SEEK_END)
            goes_on = mark is not None and mark["file"] == known.st_ino and mark["at"] <= size
            rest = b"" if goes_on or mark is None else _moved(path, mark)
            begin = source.seek(mark["at"] if goes_on else 0 if mark is not None else max(0, size - _BYTES))
            found = source.read(_BYTES)
    except OSError:
        return Page([], mark)
    whole = found[: found.rfind(b"\n") + 1]
    told = (rest + whole).decode("utf-8", "replace").splitlines()
    chosen = told if mark is not None else (told if since is None else _since(told, since))[-lines:]
    return Page(chosen, {"file": known.st_ino, "at": begin + len(whole)})


def of_journal(unit: str, lines: int, since: float | None, mark: Any) -> Page:  # noqa: ANN401 (a mark is JSON)
    """A page of the journal of a unit."""
    words = ["journalctl", "--quiet", "--no-pager", "--output=cat", "--show-cursor", "--unit", unit]
    words += [f"--after-cursor={mark}"] if mark else [f"--lines={lines}"]
    words += [f"--since=@{since:.0f}"] if since is not None and not mark else []
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", check=False)
    told = done.stdout.splitlines()
    ends = bool(told) and told[-1].startswith(_CURSOR)
    return Page(told[:-1] if ends else told, told[-1][len(_CURSOR) :] if ends else mark)


def _moved(path: Path, mark: dict[str, Any]) -> bytes:
    """What was not read yet of a log that was rotated since: it stands in the copy, or in what was renamed."""
    try:
        with path.with_name(f"{path.name}.1").open("rb") as source:
            source.seek(mark["at"])
            return source.read(_BYTES)
    except OSError:
        return b""


def _since(told: list[str], since: float) -> list[str]:
    """From the first line that was stamped at that time or later; a line without a stamp belongs to the one before."""
    for number, line in enumerate(told):
        found = STAMP.search(line)
        if found and time.mktime(time.strptime(found.group(1), _STAMPED)) >= since:
            return told[number:]
    return []
