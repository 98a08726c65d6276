"""The process supervisor: a keeper in a session of its own, a pid file, a log file; no systemd, no root."""

from __future__ import annotations

import contextlib
import fcntl
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

from dsv4deploy.node import files, pages, procs
from dsv4deploy.node.place import Place, account
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.user import become

_LOG_MIB, _LOG_KEEP = 256, 3
_BURST, _WINDOW_S = 3, 3600.0
_PAUSE_S = 5.0
_ROUND_S = 1.0  # how often a log is looked at that may have grown too long
_TRIAL_DRAIN_S = 15.0  # nobody uses a release on trial, so that there is nothing to drain
# As under systemd, nothing of the session that applies leaks into the server.
_KEPT = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "SHELL", "TZ", "XDG_CACHE_HOME")


class Keeper:
    """Starts, stops and describes the process of one deployment through its keeper."""

    def __init__(self, place: Place) -> None:
        self.place = place

    @property
    def pid_file(self) -> Path:
        return self.place.run / "process.json"

    @property
    def log_file(self) -> Path:
        """Where the last start wrote to."""
        return Path((files.read_json(self.pid_file) or {}).get("log") or self.place.run / "server.log")

    def prepare(self, *, judged: bool) -> list[str]:
        return []

    def reload(self) -> None:
        """Nothing to do: the keeper reads what it needs when it starts something."""

    def retire(self) -> None:
        files.remove(self.pid_file)

    def start(self, manifest: dict[str, Any], *, block: bool = True) -> None:
        self.place.run.mkdir(exist_ok=True)
        invocation = uuid.uuid4().hex
        # The keeper is born with the lock, so that there is no instant at which `stop` could overlook it.
        with self._lock_file() as lock:
            if not _locked(lock):
                raise Trouble("wont-start", f"another keeper of {self.place.name} runs", "stop it first")
            spawn(self.place, "keep", str(self.place.folder), invocation, lock=lock.fileno())
        end = time.monotonic() + 10
        while (files.read_json(self.pid_file) or {}).get("invocation") != invocation:
            if time.monotonic() > end:
                raise Trouble("wont-start", f"the keeper of {self.place.name} did not start", f"see {self.place.run}")
            time.sleep(0.02)

    def stop(self, manifest: dict[str, Any], *, block: bool = True) -> None:
        """Stop keeping, signal the leader, wait for a bounded drain, then end what is left of its session.

        Raises:
            Trouble: something of it still runs.
        """
        self._stop_keeping()
        known = self._known()
        if known is None:
            return
        family = procs.family(known["pid"]) if procs.alive(known["pid"], known["start"]) else known_family(known)
        if procs.alive(known["pid"], known["start"]):
            procs.send(known["pid"], signal.SIGTERM)
        limit = float(manifest.get("service", {}).get("stop_timeout_s") or 90)
        if known["release"] == (self.place.pending() or {}).get("to"):
            limit = min(limit, _TRIAL_DRAIN_S)
        for one in procs.gone(family, limit):
            procs.send(one.pid, signal.SIGKILL)
        left = procs.gone(family, 10)
        if left:
            names = ", ".join(f"pid {one.pid} (state {one.state})" for one in left)
            raise Trouble("wont-stop", f"{self.place.name} does not stop: {names}")

    def _stop_keeping(self, limit_s: float = 15) -> None:
        if not self.place.run.is_dir():
            return
        end = time.monotonic() + limit_s
        with self._lock_file() as lock:
            while not _locked(lock):
                keeper = (self._known() or {}).get("keeper")
                if keeper and procs.alive(keeper["pid"], keeper["start"]):
                    procs.send(keeper["pid"], signal.SIGTERM)
                if time.monotonic() > end:
                    raise Trouble(
                        "wont-stop", f"the keeper of {self.place.name} does not end", "look at its run/keeper.log"
                    )
                time.sleep(0.05)

    def _lock_file(self) -> BinaryIO:
        return (self.place.run / "keeper.lock").open("ab")

    def running(self) -> dict[str, Any] | None:
        known = self._known()
        if known is None or not procs.alive(known["pid"], known["start"]):
            return None
        return {key: known[key] for key in ("pid", "start", "invocation")}

    def started(self) -> dict[str, Any] | None:
        """The start that was last, and where its log and its exit code are."""
        known = self._known()
        if known is None:
            return None
        place = {"log": str(self.log_file), "offset": known["log_offset"], "state_file": str(self.pid_file)}
        return {**{key: known[key] for key in ("pid", "start", "invocation")}, **place}

    def state(self) -> dict[str, Any]:
        """The process in the words that the unit uses."""
        known = self._known() or {}
        running = self.running() is not None
        code = known.get("exit")
        return {
            "unit": None,
            "active": "active" if running else "inactive" if code in (None, 0) else "failed",
            "result": self._result(code),
            "restarts": known.get("restarts", 0),
            "keeper": bool(known) and procs.alive(known["keeper"]["pid"], known["keeper"]["start"]),
            "invocation": known.get("invocation"),
        }

    def _result(self, code: int | None) -> str | None:
        noted = files.read_json(self.pid_file)
        if noted and noted.get("boot_id") != procs.boot_id():
            return "it went with a reboot of the node, and nothing starts it again by itself"
        return None if code is None else f"exit {code}"

    def ended(self) -> str | None:
        if self.running() is not None:
            return None
        return self._result((self._known() or {}).get("exit")) or "the process is gone"

    def log(self, lines: int, invocation: str | None = None) -> list[str]:
        known = self._known() or {}
        skip = known.get("log_offset", 0) if invocation and invocation == known.get("invocation") else 0
        return files.tail(self.log_file, lines, skip)

    def page(self, lines: int, since: float | None, mark: Any) -> pages.Page:  # noqa: ANN401 (a mark is JSON)
        return pages.of_file(self.log_file, lines, since, mark)

    def watch(self) -> None:
        spawn(self.place, "watch", str(self.place.folder))

    def unwatch(self) -> None:
        """Nothing to do: the watch sees that the trial is over and ends."""

    def _known(self) -> dict[str, Any] | None:
        found = files.read_json(self.pid_file)
        return found if found and found.get("boot_id") == procs.boot_id() else None


def known_family(known: dict[str, Any]) -> list[procs.Process]:
    """What is left of the session of a leader that is gone already."""
    return [one for one in procs.everybody() if one.session == known["pid"] and one.state not in "ZX"]


def _locked(lock: BinaryIO) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def spawn(place: Place, *words: str, lock: int | None = None) -> None:
    """Run the kept tool in a session of its own, so that it outlives this run and its connection."""
    place.run.mkdir(exist_ok=True)
    with (place.run / "keeper.log").open("ab") as log:
        subprocess.Popen(
            [sys.executable, str(place.tool), *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            pass_fds=[] if lock is None else [lock],
        )


class _Bell:
    """Rings when the keeper is asked to leave or its server has ended; in between it sleeps and costs nothing."""

    def __init__(self) -> None:
        self.leave = False
        self._ear, mouth = os.pipe()
        for end in (self._ear, mouth):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
        signal.signal(signal.SIGTERM, self._asked)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def sleep(self, limit_s: float) -> None:
        select.select([self._ear], [], [], max(0.0, limit_s))
        with contextlib.suppress(BlockingIOError):
            os.read(self._ear, 1024)

    def _asked(self, *_: object) -> None:
        self.leave = True


def keep(place: Place, invocation: str) -> int:
    """The keeper itself: run the current release, rotate its log, and start it again when it fails, once confirmed."""
    keeper = Keeper(place)
    bell = _Bell()
    restarts: list[float] = []
    while not bell.leave:
        manifest = files.read_json(place.link / "manifest.json") or {}
        child = _begin(keeper, manifest, invocation, len(restarts))
        code = _attend(Log.of(place, manifest), child, bell)
        if code is None:
            break
        known = files.read_json(keeper.pid_file) or {}
        files.write_json(keeper.pid_file, {**known, "exit": code})
        restarts = [one for one in restarts if one > time.monotonic() - _WINDOW_S]
        if code == 0 or place.unconfirmed.exists() or len(restarts) >= _BURST:
            break
        restarts.append(time.monotonic())
        end = time.monotonic() + _PAUSE_S
        while not bell.leave and time.monotonic() < end:
            bell.sleep(end - time.monotonic())
    return 0


def _begin(keeper: Keeper, manifest: dict[str, Any], invocation: str, restarts: int) -> subprocess.Popen[bytes]:
    place, path = keeper.place, Log.of(keeper.place, manifest).path
    log: BinaryIO = path.open("ab")
    with log:
        offset = log.tell()
        child = subprocess.Popen(
            ["/bin/bash", str(place.link / "serve.sh")],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd=str(place.link),
            env={name: os.environ[name] for name in _KEPT if name in os.environ},
            preexec_fn=partial(_settle, manifest),  # noqa: PLW1509 (the keeper has one thread)
        )
    found, own = procs.process(child.pid), procs.process(os.getpid())
    files.write_json(
        keeper.pid_file,
        {
            "pid": child.pid,
            "start": found.start if found else 0,
            "boot_id": procs.boot_id(),
            "invocation": invocation,
            "release": place.current(),
            "since": procs.now(),
            "log": str(path),
            "log_offset": offset,
            "restarts": restarts,
            "keeper": {"pid": os.getpid(), "start": own.start if own else 0},
            "exit": None,
        },
    )
    return child


def _attend(log: Log, child: subprocess.Popen[bytes], bell: _Bell) -> int | None:
    """The exit code of the server; None if the keeper is to leave before."""
    while not bell.leave:
        code = child.poll()
        if code is not None:
            return code
        bell.sleep(_ROUND_S)
        log.rotate()
    return None


class Log(NamedTuple):
    """The log file of one server: where it is, from which size on it is rotated, how many old ones are kept."""

    path: Path
    most: int
    keep: int

    @classmethod
    def of(cls, place: Place, manifest: dict[str, Any]) -> Log:
        service = manifest.get("service") or {}
        path = Path(service.get("log") or place.run / "server.log")
        return cls(path, int(service.get("log_mib") or _LOG_MIB) << 20, int(service.get("log_keep", _LOG_KEEP)))

    def rotate(self) -> None:
        """Copy and empty: the server keeps its open file, and needs no keeper to go on writing."""
        with contextlib.suppress(OSError):
            if self.path.stat().st_size <= self.most:
                return
            self._copy()
            os.truncate(str(self.path), 0)
            for number in range(self.keep, 0, -1):
                if self._old(number - 1).exists():
                    os.replace(str(self._old(number - 1)), str(self._old(number)))

    def _copy(self) -> None:
        """A disk without room for another copy loses the old ones first, and at last this one."""
        for oldest in range(self.keep, 0, -1):
            try:
                shutil.copyfile(str(self.path), str(self._old(0)))
            except OSError:
                files.remove(self._old(0))
                files.remove(self._old(oldest))
            else:
                return

    def _old(self, number: int) -> Path:
        return self.path.with_name(f"{self.path.name}.{number}")


def _settle(manifest: dict[str, Any]) -> None:
    """Give the process that becomes the server the limits and the user that its release asks for."""
    limits = manifest["service"].get("limits") or {}
    for number, name in ((resource.RLIMIT_NOFILE, "nofile"), (resource.RLIMIT_MEMLOCK, "memlock")):
        if name in limits:
            _limit(number, resource.RLIM_INFINITY if limits[name] == "infinity" else int(limits[name]))
    user = account(manifest)
    if user and os.geteuid() == 0:
        become(user)


def _limit(number: int, wanted: int) -> None:
    """Set a limit; only root gets beyond the one it was given, anybody else gets that one."""
    given = resource.getrlimit(number)[1]
    for most in (wanted, given):
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(number, (most, most))
            return
