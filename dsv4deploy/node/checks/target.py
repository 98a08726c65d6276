"""The server that is asked: one request at a time, bounded, and never again once it is too busy to answer."""

from __future__ import annotations

import http.client
import json
import time
from pathlib import Path
from typing import Any, NamedTuple

_MOST_BYTES = 8 << 20
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (where we ask, not where we listen)
OK = 200
NOT_FOUND = 404


class Answer(NamedTuple):
    """What came back; `status` is None when nothing did, and `timed_out` says whether that was for want of time."""

    status: int | None
    body: str
    seconds: float
    timed_out: bool = False

    def document(self) -> Any:  # noqa: ANN401 (any JSON)
        """The body as JSON; None if it is none."""
        try:
            return json.loads(self.body)
        except ValueError:
            return None


class Finding(NamedTuple):
    """What a check says: `good`, `bad`, `unknown` (nobody can tell now) or `skipped`, in a line, with details."""

    state: str
    told: str
    details: tuple[str, ...] = ()


class Target:
    """One server.

    The request: `host`, `port`, `model` (served name), `api_key` or `api_key_file`, `timeout_s`, `health` (that section of
    the profile), `argv`, `devices`, `rehearsal`, `pids`, `lines` (the log of this start),
    and the Unix time `started` of it. What the checks learn beside their findings stays here: `info`, the server's own
    settings, `texts`, its answers, and `cards`, the memory of its cards.
    """

    def __init__(self, request: dict[str, Any]) -> None:
        self.request = request
        self.health: dict[str, Any] = request.get("health") or {}
        host = request.get("host") or "127.0.0.1"
        self._address = (_EVERYWHERE.get(host, host), int(request["port"]))
        self._headers = {"Content-Type": "application/json", **_key(request)}
        self.model = str(request.get("model") or "default")
        self.timeout = float(self.health.get("timeout_s") or request.get("timeout_s") or 300)
        self.busy = False
        self.info: dict[str, Any] = {}
        self.texts: dict[str, str] = {}
        self.cards: list[dict[str, float]] = []

    def ask(self, path: str, document: dict[str, Any] | None = None, timeout: float | None = None) -> Answer:
        """One request and its answer.

        An answer that does not come in time is not asked for again: each request that we abandon stays in the scheduler.
        """
        began = time.monotonic()
        if self.busy:
            return Answer(None, "", 0.0, True)
        connection = http.client.HTTPConnection(*self._address, timeout=timeout or self.timeout)
        try:
            body = None if document is None else json.dumps(document)
            connection.request("GET" if body is None else "POST", path, body, self._headers)
            answer = connection.getresponse()
            text = answer.read(_MOST_BYTES).decode(errors="replace")
            return Answer(answer.status, text, time.monotonic() - began)
        except (OSError, http.client.HTTPException) as trouble:
            self.busy = isinstance(trouble, TimeoutError) or "timed out" in str(trouble)
            return Answer(None, str(trouble), time.monotonic() - began, self.busy)
        finally:
            connection.close()


def unanswered(answer: Answer, path: str) -> Finding:
    """What is said of a request without an answer: being busy is not being dead."""
    if answer.timed_out:
        return Finding("unknown", f"{path} did not answer in {answer.seconds:.0f} s: busy, or hung; not asked again")
    return Finding("bad", f"{path}: {answer.body or 'no answer'}")


def _key(request: dict[str, Any]) -> dict[str, str]:
    key = request.get("api_key")
    if request.get("api_key_file"):
        key = Path(request["api_key_file"]).read_text(encoding="utf-8").strip()
    return {"Authorization": f"Bearer {key}"} if key else {}
