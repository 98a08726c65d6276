"""Whose process and whose port it is, read from `/proc`."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

_LISTEN = "0A"


def family(pid: int) -> set[int]:
    """The process, its descendants and all of its session; zombies are no members. Empty when nothing of it is left."""
    members, grown = {pid}, True
    everybody = {one: _stat(one) for one in _numbers("/proc")}
    while grown:
        more = {one for one, (_, parent, session) in everybody.items() if parent in members or session == pid} - members
        members |= more
        grown = bool(more)
    return {one for one in members if everybody.get(one, ("X", 0, 0))[0] not in "ZX"}


def listener(port: int, wanted: set[int]) -> int | None:
    """The process that listens on the TCP port, one of `wanted` if it is among them; None if nobody can be seen."""
    sockets = {f"socket:[{inode}]" for name in ("tcp", "tcp6") for inode in _listening(name, port)}
    if not sockets:
        return None
    others = (pid for pid in _numbers("/proc") if pid not in wanted)
    return next((pid for group in (sorted(wanted), others) for pid in group if sockets & _open(pid)), None)


def read_bytes(pids: set[int]) -> int:
    """What these processes have read from disks, in bytes: it grows while weights load, however silent that is."""
    total = 0
    for pid in pids:
        for line in _text(f"/proc/{pid}/io").splitlines():
            name, _, value = line.partition(": ")
            total += int(value) if name == "read_bytes" else 0
    return total


def _stat(pid: int) -> tuple[str, int, int]:
    fields = _text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (fields[0], int(fields[1]), int(fields[3])) if len(fields) > 3 else ("X", 0, 0)  # noqa: PLR2004 (proc(5))


def _listening(name: str, port: int) -> set[str]:
    rows = (line.split() for line in _text(f"/proc/net/{name}").splitlines()[1:])
    return {row[9] for row in rows if row[3] == _LISTEN and int(row[1].rpartition(":")[2], 16) == port}


def _open(pid: int) -> set[str]:
    found = set()
    with contextlib.suppress(OSError):
        for name in _numbers(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                found.add(os.readlink(f"/proc/{pid}/fd/{name}"))
    return found


def _numbers(folder: str) -> list[int]:
    return [int(name) for name in os.listdir(folder) if name.isdigit()]


def _text(path: str) -> str:
    try:
        return Path(path).read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
