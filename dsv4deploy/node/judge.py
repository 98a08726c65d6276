"""Judges a start while it happens, from what is observed: log, HTTP, process, kernel; it reads no clock and no file.

Times are seconds on one clock of the feeder's choice. Feed the log of this start only, and all of it that there is
before telling that the process is gone.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.stages import STAGES
from dsv4deploy.node.story import BANDS, Hit, Story
from dsv4deploy.node.triage import explanation, knowledge

# Seconds without any sign of life after which a stage is hung. Capture and warm-up compile kernels in silence: 382 s of
# capture were measured in a start that got ready, and the engine itself gives its warm-up request 600 s.
QUIET = {"args": 180, "init": 600, "load": 600, "pool": 300, "capture": 1200, "warmup": 900, "serve": 180}
# Seconds that a whole stage may take before the start is called late; loading adds what the weights need.
LIMIT = {"args": 180, "init": 300, "load": 300, "pool": 180, "capture": 1800, "warmup": 900, "serve": 180}
_SLOW_DISK = 100e6  # bytes a second
_MOVING = 180
_SETTLE = 2
_SETTLE_AT_MOST = 15
_STRANGER = 30
_WRONG_ANSWERS = 3
_SHOWN = 12
_KILLED = re.compile(r"[Kk]illed process (?P<pid>\d+)|\bpid=(?P<victim>\d+)")
# What a code alone proves when the log says nothing.
_BY_CODE = {
    -9: "sigkill",
    137: "sigkill",
    -11: "native-crash",
    139: "native-crash",
    -6: "native-crash",
    134: "native-crash",
}
# These speak of our key and not of the server.
_NO_KEY = (401, 403)
_REMEMBERED = ("started", "moved", "health", "completion", "_answered", "_stranger_since", "_work", "_wrong")
_ANSWERS = {"/v1/completions": "text", "/generate": "text", "/v1/chat/completions": "message"}


class Verdict(NamedTuple):
    """How a start stands; `decided` says that waiting longer changes nothing."""

    state: str
    decided: bool
    why: str = ""
    kind: str | None = None
    hit: Hit | None = None


def wrong_answer(path: str, status: int | None, body: str) -> str | None:
    """What is wrong with the answer to a completion request; None if it has the shape it should have."""
    if status != 200:  # noqa: PLR2004 (HTTP's own number)
        return f"{path} answered {status or 'nothing'}"
    try:
        answer = json.loads(body)
        answer = answer[0] if isinstance(answer, list) else answer
        choice = answer["choices"][0] if "choices" in answer else answer
        said = choice["message"] if _ANSWERS.get(path) == "message" else choice
        text = said.get("text") if "text" in said else said.get("content") or said.get("reasoning_content")
        # A model may end its answer at once; the tokens tell that it was asked.
        tokens = (answer.get("usage") or answer.get("meta_info") or {}).get("completion_tokens")
    except (ValueError, LookupError, TypeError, AttributeError):
        return f"{path} answered something that is no completion"
    return None if isinstance(text, str) and (text or tokens) else f"{path} answered no text"


class Judge:
    """One start under observation.

    `expectations`: `started` (the time of the start), `weight_bytes`, `limit` (seconds for everything; by default the
    sum over the stages), `quiet` (seconds by stage), `completion` (false: do not ask for the proof by a completion),
    `owner` (false: nobody can tell whose the port is).
    """

    def __init__(self, catalogue: Catalogue, expectations: dict[str, Any] | None = None) -> None:
        self.expected = dict(expectations or {})
        self.started = float(self.expected.get("started", 0.0))
        self.story = Story(catalogue)
        self._host = Story(catalogue)
        self.entered: dict[str, float] = {"args": self.started}
        self._entered_before: dict[str, float] = {}
        self._read = self._read_before = 0
        self.moved = self.started
        self.pids: set[int] = set()
        self.listener: int | None = None
        self._stranger_since: float | None = None
        self.alive = True
        self.code: int | None = None
        self._work: float | None = None
        self.health: int | None = None
        self._said_200 = False
        self._answered = self.started
        self.completion = False
        self._wrong: list[str] = []
        self._locked = ""
        self.kernel: list[str] = []
        self._dead_at: float | None = None
        self._logged = self.started
        self._stop = False
        self._over: Verdict | None = None

    # Observations

    def log(self, at: float, chunk: bytes | str) -> None:
        """More of this start's log."""
        self.story.feed(chunk)
        # A second start in the same log has entered fewer stages than the first.
        known = {"args", *self.story.entered}
        earlier = {**self._entered_before, **self.entered}
        self.entered = {stage: earlier.get(stage, at) for stage in STAGES if stage in known}
        self._read += len(chunk)
        if self._read > self._read_before:
            self._logged = self.moved = at
        if self.story.dead is not None and self._dead_at is None:
            self._dead_at = at

    def http(self, at: float, path: str, status: int | None, body: str = "") -> None:
        """An answer; `status` is None when the connection was refused or nothing came in time."""
        if path in _ANSWERS and status in _NO_KEY:
            self._locked = f"{path} answered {status}: the API key is missing or wrong"
        elif path in _ANSWERS:
            wrong = wrong_answer(path, status, body)
            self._wrong = [*self._wrong, wrong] if wrong else []
            self.completion = wrong is None
        else:
            if status != self.health:
                self.moved = at
            self.health = status
            self._said_200 = status == 200  # noqa: PLR2004 (HTTP's own number)
        if status is not None and status < 500:  # noqa: PLR2004 (HTTP's own number)
            self._answered = at

    def process(self, at: float, alive: bool, **seen: Any) -> None:  # noqa: ANN401 (an observation as it came in)
        """The process: `code` once it is gone, `pids` of its tree, `listener` (who owns the port), `work` (a counter)."""
        self.alive, self.code = alive, seen.get("code")
        self.pids.update(seen.get("pids") or ())
        self.listener = seen.get("listener")
        foreign = self.listener is not None and self.pids and self.listener not in self.pids
        self._stranger_since = (self._stranger_since if self._stranger_since is not None else at) if foreign else None
        work = seen.get("work")
        if work is not None and work != self._work:
            self._work, self.moved = work, at

    def kernel_line(self, line: str) -> None:
        """A line of the kernel's log from since the start; a kill counts if its victim is one of our processes."""
        victims = {int(number) for found in _KILLED.finditer(line) for number in found.groups() if number}
        if not victims or victims & self.pids:
            self.kernel.append(line)
            self._host.feed(line + "\n")

    def stop(self, at: float) -> None:
        """We have asked it to stop: what follows is no failure."""
        self.verdict(at)
        self._stop = True

    def memory(self) -> dict[str, Any]:
        """What a later judge of the same start cannot read from the log; plain JSON values, times on the same clock."""
        return {
            **{name: getattr(self, name) for name in _REMEMBERED},
            "entered": self.entered,
            "read": self._read,
            "pids": sorted(self.pids),
        }

    def recall(self, memory: dict[str, Any]) -> None:
        """Go on where an earlier judge of this start stopped; feed the log from its beginning after this."""
        for name in _REMEMBERED:
            setattr(self, name, memory[name])
        self._entered_before, self._read_before = dict(memory["entered"]), memory["read"]
        self.entered["args"] = self.started
        self.pids = set(memory["pids"])

    # Judgement

    def verdict(self, at: float) -> dict[str, Any]:
        """How it stands at the time `at`, as the answer `wait/1`."""
        now = self._over or self._judge(at)
        if now.state in ("failed", "stopped-by-us"):
            self._over = now
        return self._answer(at, now)

    def _judge(self, at: float) -> Verdict:
        """The first rule that has an answer gives it."""
        for rule in (self._stopped, self._told, self._left, self._gone, self._refused, self._ready, self._hung):
            now = rule(at)
            if now is not None:
                return now
        return Verdict("progressing", False, self._locked)

    def _stopped(self, _at: float) -> Verdict | None:
        return Verdict("stopped-by-us", True, "we asked it to stop") if self._stop else None

    def _told(self, at: float) -> Verdict | None:
        return self._failed("the log says so") if self.story.final or self._settled(at) else None

    def _left(self, _at: float) -> Verdict | None:
        asked = self.story.stopped
        return Verdict("stopped-by-us", True, asked.text) if asked is not None and self.story.dead is None else None

    def _gone(self, _at: float) -> Verdict | None:
        if self.alive:
            return None
        return self._failed("the process is gone" + ("" if self.code is None else f" (exit code {self.code})"))

    def _refused(self, at: float) -> Verdict | None:
        if len(self._wrong) >= _WRONG_ANSWERS:
            return Verdict("failed", True, self._wrong[-1])
        if self._stranger_since is not None and at - self._stranger_since >= _STRANGER:
            return Verdict("failed", True, f"process {self.listener} holds the port; it is not ours", "port-in-use")
        return None

    def _ready(self, _at: float) -> Verdict | None:
        proved = all(self.proofs().values())
        return Verdict("ready", True, "ready line, health, completion and owner agree") if proved else None

    def _hung(self, at: float) -> Verdict | None:
        """Silence for too long; at the deadline a shorter silence is enough, and movement is *progressing*."""
        stage, silent = self.story.stage, at - self.moved
        if stage == "serve" and at - max(self._answered, self.entered["serve"]) >= self._quiet("serve"):
            return Verdict("hung", True, "it said that it is ready and answers nothing")
        kind = "nccl-init-hang" if self.story.joining and stage == "init" else None
        if silent >= self._quiet(stage):
            return Verdict("hung", True, f"no sign of life for {silent:.0f} s", kind)
        if at - self.started < self._limit():
            return None
        if silent >= _MOVING:
            return Verdict("hung", True, f"the deadline has passed, and no sign of life for {silent:.0f} s", kind)
        return Verdict("progressing", True, self._locked or "the deadline has passed, but it still moves")

    def _settled(self, at: float) -> bool:
        """Whether a death is told to its end: a traceback arrives over several reads."""
        if self.story.dead is None or self._dead_at is None:
            return False
        return at - self._logged >= _SETTLE or at - self._dead_at >= _SETTLE_AT_MOST

    def proofs(self) -> dict[str, bool]:
        """What ready means, each by itself."""
        return {
            "ready_line": self.story.ready is not None,
            "health": self._said_200,
            "completion": self.completion or self.expected.get("completion") is False,
            "owner": self.expected.get("owner") is False or self.listener in self.pids,
        }

    def _failed(self, why: str) -> Verdict:
        hit = explanation(self.story, ended=True)
        host = self._host.best("cause")
        weak = hit is None or hit.band >= BANDS.index("symptom")
        if host is not None and weak:
            return Verdict("failed", True, why, self._class(host), host)
        if hit is not None and hit.band < BANDS.index("advice"):
            return Verdict("failed", True, why, self._class(hit), hit)
        return Verdict("failed", True, why, _BY_CODE.get(self.code) if self.code is not None else None)

    def _class(self, hit: Hit) -> str | None:
        kind: str | None = self.story.catalogue[hit.number].get("class")
        return kind

    def _loading(self) -> float:
        return float(self.expected.get("weight_bytes") or 0) / _SLOW_DISK

    def _quiet(self, stage: str) -> float:
        chosen = (self.expected.get("quiet") or {}).get(stage, QUIET[stage])
        return float(chosen) + (self._loading() if stage == "load" else 0.0)

    def _limit(self) -> float:
        return float(self.expected.get("limit") or sum(LIMIT.values()) + self._loading())

    def _answer(self, at: float, now: Verdict) -> dict[str, Any]:
        line = now.hit or self.story.dead or (self.story.ready if now.state == "ready" else self.story.newest)
        answer: dict[str, Any] = {
            "schema": "wait/1",
            "state": now.state,
            "decided": now.decided,
            "late": now.state == "progressing" and now.decided,
            "stage": now.hit.stage if now.hit else self.story.stage,
            "class": now.kind,
            "why": now.why,
            "root": line.text if line else "",
            "line": line.line if line else None,
            "seconds": round(at - self.started, 1),
            "stages": {stage: round(when - self.started, 1) for stage, when in self.entered.items()},
            "progress": self.story.progress,
            "proofs": self.proofs(),
            "health": self.health,
            "pid": self.listener,
            "exit_code": self.code,
            "kernel": self.kernel[-_SHOWN:],
            "ranks": self.story.stages,
            "lines": self.story.last(_SHOWN),
        }
        catalogue = self.story.catalogue
        if now.hit:
            answer.update(knowledge(catalogue[now.hit.number], now.hit.groups))
        elif now.kind:
            answer.update(knowledge(catalogue.of_class(now.kind), {}))
        return answer
