"""Processes and ports, read from `/proc`: who runs, since when, with what, and what belongs to it."""

from __future__ import annotations

import contextlib
import hashlib
import os
import signal
import time
from itertools import chain
from pathlib import Path
from typing import Iterable, NamedTuple

from dsv4deploy.node.files import text

_LISTEN = "0A"


class Process(NamedTuple):
    """One process; `start` is its start time in clock ticks since boot, which makes a pid unmistakable."""

    pid: int
    start: int
    parent: int
    session: int
    state: str


def boot_id() -> str:
    return text("/proc/sys/kernel/random/boot_id").strip()


def uptime() -> float:
    """Seconds since boot, suspended time included."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def now() -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def process(pid: int) -> Process | None:
    fields = text(f"/proc/{pid}/stat").rpartition(")")[2].split()
    if not fields:
        return None
    return Process(pid, int(fields[19]), int(fields[1]), int(fields[3]), fields[0])


def alive(pid: int, start: int | None = None) -> bool:
    """Whether that very process runs; a zombie does not."""
    found = process(pid)
    return found is not None and found.state not in "ZX" and (start is None or found.start == start)


def started(start: int) -> float:
    """The time of the clock at which a process began, from its start in ticks since boot."""
    return time.time() - uptime() + start / os.sysconf("SC_CLK_TCK")


def everybody() -> list[Process]:
    found = (process(int(name)) for name in os.listdir("/proc") if name.isdigit())
    return [one for one in found if one is not None]


def family(pid: int) -> list[Process]:
    """The process, its descendants and all of its session, without zombies; nobody for no pid."""
    if pid <= 0:
        return []
    known = {pid}
    everyone = everybody()
    grown = True
    while grown:
        more = {one.pid for one in everyone if one.parent in known or one.session == pid} - known
        known |= more
        grown = bool(more)
    return [one for one in everyone if one.pid in known and one.state not in "ZX"]


def cmdline(pid: int) -> list[str]:
    raw = text(f"/proc/{pid}/cmdline")
    return raw[:-1].split("\0") if raw.endswith("\0") else raw.split("\0") if raw else []


def environ(pid: int) -> dict[str, str] | None:
    """The environment the process was started with; None if it may not be read."""
    try:
        raw = Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None
    pairs = (item.partition(b"=") for item in raw.split(b"\0") if item)
    return {os.fsdecode(name): os.fsdecode(value) for name, _, value in pairs}


def environ_digest(pid: int) -> str | None:
    """A digest of the environment, which tells a change without telling a secret."""
    found = environ(pid)
    if found is None:
        return None
    return hashlib.sha256("\0".join(f"{k}={v}" for k, v in sorted(found.items())).encode()).hexdigest()


def listening() -> dict[int, set[int]]:
    """Every TCP port that somebody listens on, with the inodes of its sockets."""
    ports: dict[int, set[int]] = {}
    for family_name in ("tcp", "tcp6"):
        for line in text(f"/proc/net/{family_name}").splitlines()[1:]:
            fields = line.split()
            if fields[3] == _LISTEN:
                ports.setdefault(int(fields[1].rpartition(":")[2], 16), set()).add(int(fields[9]))
    return ports


def holders(ports: list[int], likely: Iterable[int] = ()) -> dict[int, int | None]:
    """Those of `ports` that are taken, with the pid of the listener where it may be read; `likely` pids are asked first."""
    taken = {port: inodes for port, inodes in listening().items() if port in set(ports)}
    if not taken:
        return {}
    owners: dict[int, int | None] = dict.fromkeys(taken)
    for pid in chain(likely, (int(name) for name in os.listdir("/proc") if name.isdigit())):
        if None not in owners.values():
            break
        inodes = set(_sockets(pid))
        owners.update({port: pid for port, wanted in taken.items() if wanted & inodes})
    return owners


def _sockets(pid: int) -> list[int]:
    found = []
    with contextlib.suppress(OSError):
        for name in os.listdir(f"/proc/{pid}/fd"):
            with contextlib.suppress(OSError):
                target = os.readlink(f"/proc/{pid}/fd/{name}")
                if target.startswith("socket:["):
                    found.append(int(target[8:-1]))
    return found


def send(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


def gone(members: list[Process], limit_s: float) -> list[Process]:
    """Wait until none of `members` runs any more; returns those that still do after `limit_s` seconds."""
    end = time.monotonic() + limit_s
    while True:
        left = [one for one in members if alive(one.pid, one.start)]
        if not left or time.monotonic() >= end:
            return left
        time.sleep(0.05)
