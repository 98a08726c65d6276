"""Judges the start of a deployment for a while, and remembers what the next look at the same start needs."""

from __future__ import annotations

import http.client
import json
import os
import pkgutil
import time
from typing import Any, Protocol

from dsv4deploy.node import files, follow, procs
from dsv4deploy.node.place import Place

_WIDEST = 500  # the engine prints all its arguments on one line
_HEALTH_S = 10.0


class Service(Protocol):
    """What is asked of a supervisor."""

    def started(self) -> dict[str, Any] | None:
        """The start that was last: `pid`, `start`, `invocation`, and where its log and its exit code are."""


def wait(place: Place, service: Service, manifest: dict[str, Any], limit_s: float) -> dict[str, Any]:
    """Watch the last start for at most `limit_s` seconds; the answer `wait/1`, with `invocation`."""
    start = service.started()
    if start is None or not start["pid"]:
        told: dict[str, Any] = {
            "state": "failed",
            "stage": "args",
            "class": None,
            "why": "nothing was started",
            "lines": [],
            "pid": None,
        }
        return {**told, "invocation": None}
    kept = files.read_json(place.folder / "judging") or {}
    memory = kept.get("memory") if kept.get("invocation") == start["invocation"] else None
    found = follow.run(_request(start, manifest, limit_s, memory))
    files.write_json(place.folder / "judging", {"invocation": start["invocation"], "memory": found.pop("memory")})
    lines = [line[:_WIDEST] for line in found["lines"]]
    return {**found, "lines": lines, "root": found["root"][:_WIDEST], "invocation": start["invocation"]}


def health(endpoint: dict[str, Any]) -> int | None:
    """The HTTP status of `/health`; None if nobody answers."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(endpoint["host"], endpoint["host"])  # noqa: S104 (it is where we ask, not where we listen)
    connection = http.client.HTTPConnection(host, int(endpoint["port"]), timeout=_HEALTH_S)
    try:
        connection.request("GET", "/health")
        return int(connection.getresponse().status)
    except (OSError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _request(
    start: dict[str, Any], manifest: dict[str, Any], limit_s: float, memory: dict[str, Any] | None
) -> dict[str, Any]:
    age = procs.uptime() - start["start"] / os.sysconf("SC_CLK_TCK")
    expectations = {"started": time.monotonic() - max(0.0, age), "limit": manifest["service"].get("start_timeout_s")}
    return {
        **start,
        "host": manifest["endpoint"]["host"],
        "port": manifest["endpoint"]["port"],
        "model": (manifest.get("model") or {}).get("served_name"),
        "api_key_file": (manifest.get("secrets") or {}).get("api_key"),
        "signatures": json.loads(pkgutil.get_data("dsv4deploy.node", "signatures.json") or b""),
        "expectations": {name: value for name, value in expectations.items() if value},
        "limit_s": limit_s,
        "memory": memory,
    }
