"""Who works on a deployment: one at a time within a run, and one person's apply at a time across its runs."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import time
from typing import Any, Iterator

from dsv4deploy.node.place import Place
from dsv4deploy.node.procs import boot_id, now, uptime
from dsv4deploy.node.trouble import Trouble

# An apply shows up on the node at least every 20 s; one not seen for so long has lost its controller.
FORGOTTEN_S = 60.0


@contextlib.contextmanager
def held(place: Place, document: dict[str, Any], patience_s: float = 20.0) -> Iterator[None]:
    """Hold the deployment for this run, and for the apply that the request's `holder` speaks of.

    `holder`: `{"token", "who", "gone": [tokens]}`; `gone` are tokens whose controller the caller knows to be dead.
    The kernel frees a run whose process died; an apply is free once it ended, was not seen for `FORGOTTEN_S`, began
    before the last boot, or is known to be gone. Another run is waited for, for `patience_s` seconds.

    Raises:
        Trouble: somebody else works here.
    """
    place.folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(str(place.lock), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        _exclusively(handle, place, patience_s)
        _claim(handle, place, document.get("holder") or {})
        yield
    finally:
        os.close(handle)


def lease(place: Place) -> dict[str, Any] | None:
    """The apply that works here now: `token`, `who`, `since`, `seen_s` ago; None if there is none."""
    try:
        found = _parsed(place.lock.read_bytes())
    except OSError:
        return None
    if found is None or not _current(found):
        return None
    return {**found, "seen_s": round(uptime() - found["seen"], 1)}


def last_seen(place: Place, token: str | None) -> float:
    """When the apply with this token worked here last, in seconds of uptime; 0 if it never did."""
    found = lease(place)
    return float(found["seen"]) if found and found["token"] == token else 0.0


def let_go(place: Place, document: dict[str, Any]) -> None:
    """End the apply of this request's holder; another one's stays."""
    with contextlib.suppress(OSError), place.lock.open("r+b") as source:
        found = _parsed(source.read())
        if found is None or found.get("token") == (document.get("holder") or {}).get("token"):
            source.truncate(0)


def _exclusively(handle: int, place: Place, patience_s: float) -> None:
    end = time.monotonic() + patience_s
    while True:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() > end:
                found = _parsed(os.pread(handle, 4096, 0)) or {}
                raise Trouble(
                    "locked", f"{place.name} is being worked on by {found.get('who', 'somebody')}", "try again later"
                ) from None
            time.sleep(0.1)
        else:
            return


def _claim(handle: int, place: Place, holder: dict[str, Any]) -> None:
    token = holder.get("token")
    if token is None:
        return
    found = _parsed(os.pread(handle, 4096, 0))
    if found and _current(found) and found["token"] != token and found["token"] not in holder.get("gone", []):
        raise Trouble(
            "locked",
            f"{place.name} is being worked on by {found['who']} since {found['since']}",
            f"wait for it; it is taken over once it was not seen for {FORGOTTEN_S:.0f} s",
        )
    same = found is not None and found.get("token") == token
    claim = {
        "token": token,
        "who": holder.get("who", "somebody"),
        "controller": holder.get("controller"),
        "since": found["since"] if found and same else now(),
        "boot_id": boot_id(),
        "seen": uptime(),
    }
    # In place, because the lock is on this very file; a torn text reads as nobody's.
    data = json.dumps(claim).encode()
    os.ftruncate(handle, 0)
    os.pwrite(handle, data, 0)


def _parsed(data: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(data)
    except ValueError:
        return None
    return found if isinstance(found, dict) and {"token", "who", "since", "boot_id", "seen"} <= set(found) else None


def _current(found: dict[str, Any]) -> bool:
    return bool(found["boot_id"] == boot_id() and uptime() - float(found["seen"]) < FORGOTTEN_S)
