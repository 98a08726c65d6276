"""Writes the log as the engine does: a time and a rank before each line, progress bars with carriage returns.

Each line is one write, so that the lines of several ranks may alternate but never mix.
"""

from __future__ import annotations

import os
import time
from typing import Iterator

SPEED = max(float(os.environ.get("DSV4_REHEARSAL_SPEED", "1")), 0.001)
_OUT, _ERR = 1, 2
_WIDTH = 10
_EIGHTHS = " ▏▎▍▌▋▊▉█"


def pause(seconds: float) -> None:
    """Wait `seconds` of rehearsal time; `DSV4_REHEARSAL_SPEED=10` makes them ten times shorter."""
    if seconds > 0:
        time.sleep(seconds / SPEED)


def raw(text: str) -> None:
    """Write `text` to the log as it is."""
    _write(_ERR, text)


def warn(text: str) -> None:
    """Write a warning that stands before the log is set up: coloured, without a time."""
    raw(f"\033[1;33m{text}\033[0m\n")


def line(text: str, rank: str = "") -> None:
    """Write one line of the engine; `rank` is its prefix (` TP0`), empty for the leader."""
    raw("[{}{}] {}\n".format(time.strftime("%Y-%m-%d %H:%M:%S"), rank, text))


def access(text: str) -> None:
    """Write one line of the access log, which goes to standard output."""
    _write(_OUT, "[{}] INFO:     {}\n".format(time.strftime("%Y-%m-%d %H:%M:%S"), text))


def bar(done: int, total: int, took: float, label: str) -> str:
    """One state of a progress bar, in the looks of tqdm."""
    filled = done / total * _WIDTH
    blocks = _EIGHTHS[-1] * int(filled)
    if done < total:
        blocks += _EIGHTHS[int(filled * 8) % 8]
    return "{}: {:3.0f}%|{}| {}/{} [{}<{}, {}]".format(
        label,
        done / total * 100,
        blocks.ljust(_WIDTH)[:_WIDTH],
        done,
        total,
        _clock(took),
        _clock(took / done * (total - done)) if done else "?",
        _rate(done, took),
    )


def shards(done: int, total: int, took: float, label: str) -> str:
    """One state of the weight loader's bar, which has a format of its own."""
    left = _clock(took / done * (total - done)) if done else "?"
    state = "{}: {:3.0f}% Completed | {}/{} [{}<{}, {}]"
    return state.format(label, done / total * 100, done, total, _clock(took), left, _rate(done, took))


def ticks(total: int, seconds: float, most: int = 50) -> Iterator[int]:
    """Count from 0 to `total` in at most `most` steps, pausing `seconds` altogether."""
    steps = max(1, min(total, most))
    yield 0
    for step in range(1, steps + 1):
        pause(seconds / steps)
        yield round(total * step / steps)


def _rate(done: int, took: float) -> str:
    if not done or took <= 0:
        return "?it/s"
    rate: float | None = done / took
    return f"{rate:5.2f}it/s" if rate and rate >= 1 else f"{took / done:5.2f}s/it"


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"


def _write(descriptor: int, text: str) -> None:
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(descriptor, data) :]
