"""Processes of one case: forked, each in a group of its own, with a common time limit and nothing left behind."""

import json
import os
import selectors
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from dsv4deploy.probes.case import UnknownError, WrongError
from dsv4deploy.probes.chain import chain

# After one process has failed, the others wait for it in vain; this is what they get to say why.
_GRACE_S = 3.0
# The kernel closes the connections of a killed process a moment before, or after, its parent hears of its end.
_SAME_MOMENT_S = 0.5
MARK = "DSV4DEPLOY_PROBE"
Tell = Callable[[dict[str, Any]], None]


@dataclass
class Told:
    """What one process told, and how it ended; `outcome` is empty where it was still at work."""

    pid: int
    outcome: str = ""
    phase: str = "start"
    figures: dict[str, Any] = field(default_factory=dict)
    chain: list[dict[str, Any]] = field(default_factory=list)
    because: str = ""
    seconds: float = 0.0
    status: int | None = None

    def hear(self, line: bytes) -> None:
        """Take in one line of the process."""
        told = json.loads(line)
        self.figures.update(told.pop("figures", {}))
        for name, value in told.items():
            setattr(self, name, value)


def together(work: Sequence[Callable[[Tell], None]], limit_s: float, log: str) -> list[Told]:
    """Run each of `work` in a process of its own until all have ended, or the limit; then end what is left.

    What a process starts is found by its group, and where it left that, by the name of `log` in its environment.

    Returns:
        what each told, in the order of `work`.
    """
    began = time.monotonic()
    begun = [_forked(one, log) for one in work]
    told, pipes = [Told(pid) for pid, _ in begun], [pipe for _, pipe in begun]
    try:
        _listen(told, pipes, began, began + limit_s)
    finally:
        for one in told:
            _end(one)
        for pid in _strays(log):
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        for pipe in pipes:
            os.close(pipe)
    return told


def _forked(work: Callable[[Tell], None], log: str) -> tuple[int, int]:
    sys.stdout.flush()
    sys.stderr.flush()
    ours, theirs = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(ours)
        _apart(log)
        _work(work, theirs)
    os.close(theirs)
    return pid, ours


def _apart(log: str) -> None:
    """Leave the parent's group and terminal."""
    os.setsid()
    os.environ[MARK] = log
    out = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    os.dup2(out, 1)
    os.dup2(out, 2)


def _work(work: Callable[[Tell], None], pipe: int) -> NoReturn:
    """Do the work of a forked process, say how it ended, and never come back."""

    def tell(told: dict[str, Any]) -> None:
        os.write(pipe, json.dumps(told).encode() + b"\n")

    try:
        work(tell)
        tell({"outcome": "ok"})
    except UnknownError as error:
        tell({"outcome": "unknown", "because": str(error)})
    except WrongError as error:
        tell({"outcome": "wrong", "because": str(error)})
    except BaseException as error:  # noqa: BLE001 (how it ends is what is asked)
        traceback.print_exc()
        tell({"outcome": "failed", "chain": chain(error)})
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(0)


def _listen(told: list[Told], pipes: list[int], began: float, end: float) -> None:
    """Hear all processes until each has closed its pipe, or time is up."""
    rests = dict.fromkeys(range(len(told)), b"")
    with selectors.DefaultSelector() as selector:
        for index, pipe in enumerate(pipes):
            selector.register(pipe, selectors.EVENT_READ, index)
        while selector.get_map() and time.monotonic() < end:
            for key, _ in selector.select(max(0.0, end - time.monotonic())):
                index = key.data
                data = os.read(key.fd, 1 << 16)
                *lines, rests[index] = (rests[index] + data).split(b"\n")
                for line in lines:
                    told[index].hear(line)
                if not data:
                    selector.unregister(key.fd)
                    told[index].seconds = round(time.monotonic() - began, 2)
                    told[index].outcome = told[index].outcome or "died"
                    if told[index].outcome != "ok":
                        end = min(end, time.monotonic() + _GRACE_S)
        for key in selector.get_map().values():
            told[key.data].seconds = round(time.monotonic() - began, 2)


def _end(one: Told) -> None:
    """Kill the process and all it started, and take its status."""
    for _ in range(2):  # once for the process, once for what it started while it was being killed
        try:
            os.killpg(one.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            break
        if one.status is None:
            one.status = os.waitpid(one.pid, 0)[1]
    if one.status is None:
        one.status = os.waitpid(one.pid, 0)[1]
    if one.outcome == "died" and not one.because:
        number = os.WTERMSIG(one.status) if os.WIFSIGNALED(one.status) else None
        how = f"signal {number}" if number else f"exit status {os.WEXITSTATUS(one.status)}"
        one.because = f"the process ended by {how}"


def cause(told: Sequence[Told]) -> Told:
    """The process that explains the case: the first that ended badly, else one that did not end, else the first.

    Where one died and another failed in the same moment, the death is the cause and the failure the lost connection.
    """
    bad = sorted((one for one in told if one.outcome not in {"ok", ""}), key=lambda one: one.seconds)
    hung = [one for one in told if not one.outcome]
    died = [one for one in bad if one.outcome == "died" and one.seconds <= bad[0].seconds + _SAME_MOMENT_S]
    return (*died, *bad, *hung, *told)[0]


def left(told: Sequence[Told], log: str, limit_s: float = 5.0) -> list[int]:
    """Processes that live on after `limit_s`; none, unless the kernel itself holds one."""
    end = time.monotonic() + limit_s
    while True:
        found = [one.pid for one in told if _alive(one.pid)] + _strays(log)
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.05)


def _alive(group: int) -> bool:
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _strays(log: str) -> list[int]:
    """Processes that carry the mark of this case and have left its process groups."""
    wanted = f"{MARK}={log}".encode()
    found = []
    for environ in Path("/proc").glob("[0-9]*/environ"):
        with suppress(OSError):
            if wanted in environ.read_bytes().split(b"\0"):
                found.append(int(environ.parent.name))
    return found
