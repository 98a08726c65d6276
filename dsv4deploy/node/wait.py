"""Whether the process that was started is ready: its ready line, HTTP 200, and that it is the one that answers."""

from __future__ import annotations

import http.client
import re
import time
from http import HTTPStatus
from typing import Any, Protocol

from dsv4deploy.node import procs

READY = "The server is fired up and ready to roll!"
_STAGES = (
    ("weights", re.compile(r"Load weight (?:begin|end)")),
    ("memory-pool", re.compile(r"Memory pool end\.|KV Cache is allocated")),
    ("capture", re.compile(r"Capture (?:\w+ )*(?:cuda|CUDA) graph (?:begin|end)")),
    ("warm-up", re.compile(r"Application startup complete|Uvicorn running on")),
    ("ready", re.compile(re.escape(READY))),
)
_ERROR = re.compile(r"^(?:[\w.]*(?:Error|Exception)\b|error: |\S+: error: )")
_SHOWN = 20
_WIDEST = 500  # the engine prints all its arguments on one line


class Service(Protocol):
    """What is asked of a supervisor."""

    def running(self) -> dict[str, Any] | None: ...
    def state(self) -> dict[str, Any]: ...
    def ended(self) -> str | None: ...
    def log(self, lines: int, invocation: str | None = None) -> list[str]: ...


def wait(service: Service, manifest: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """Watch the start for at most `limit_s` seconds.

    Answers `{state, stage, class, lines, pid, invocation}`; `state` is `ready`, `failed` or `progressing`, `class` names
    the failure, `lines` are the last ones of the log.
    """
    end = time.monotonic() + limit_s
    while True:
        found = look(service, manifest)
        if found["state"] != "progressing" or time.monotonic() >= end:
            return found
        time.sleep(0.25)


def look(service: Service, manifest: dict[str, Any]) -> dict[str, Any]:
    """The same, at this instant."""
    running = service.running()
    invocation = (running or {}).get("invocation") or service.state().get("invocation")
    lines = service.log(2000, invocation)
    answer = {
        "stage": stage(lines),
        "lines": [line[:_WIDEST] for line in lines[-_SHOWN:]],
        "pid": None,
        "invocation": invocation,
        "class": None,
    }
    if running is None:
        return {**answer, "state": "failed", "class": "exit", "ended": service.ended(), "cause": cause(lines)}
    answer["pid"] = running["pid"]
    status = health(manifest["endpoint"])
    answer["http"] = status
    if answer["stage"] != "ready" or status != HTTPStatus.OK:
        return {**answer, "state": "progressing"}
    if not _answers(manifest["endpoint"]["port"], running["pid"]):
        return {**answer, "state": "failed", "class": "other-process"}
    return {**answer, "state": "ready"}


def stage(lines: list[str]) -> str:
    """How far a start has come, by the lines of its log."""
    reached = "start"
    for line in lines:
        for name, pattern in _STAGES:
            if pattern.search(line):
                reached = name
    return reached


def cause(lines: list[str]) -> str:
    """The line that most likely says why: the first that names an error, or else the last one."""
    said = [line[:_WIDEST] for line in lines if line.strip()]
    return next((line for line in said if _ERROR.search(line)), said[-1] if said else "nothing in its log")


def health(endpoint: dict[str, Any]) -> int | None:
    """The HTTP status of `/health`; None if nobody answers."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(endpoint["host"], endpoint["host"])  # noqa: S104 (it is where we ask, not where we listen)
    connection = http.client.HTTPConnection(host, int(endpoint["port"]), timeout=10)
    try:
        connection.request("GET", "/health")
        return int(connection.getresponse().status)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _answers(port: int, pid: int) -> bool:
    """Whether the listener is one of the family; a listener that may not be seen is taken for it."""
    owner = procs.holders([int(port)]).get(int(port))
    return owner is None or owner in {one.pid for one in procs.family(pid)}
