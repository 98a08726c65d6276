"""Decides how this start goes: which failure script is played, at which rank and when, and which stage is slow.

A failure is asked for by `DSV4_REHEARSAL_FAIL` (`NAME` or `NAME:rank=1,requests=3,seconds=2`), or by the rules of the
world, whose first matching `fail` is taken; the delays of all matching rules add up.
"""

from __future__ import annotations

import hashlib
import json
import os
import random
import tempfile
from pathlib import Path

from .record import RECORD, Value
from .stack import Stack


class Script:
    """The course of one start.

    Attributes:
        name: the failure script, None where all goes well.
        stage: where it is played.
        rank: which scheduler plays it; None for all.
        requests: while serving, how many requests are answered before.
        tokens: while serving, how long a prompt must be to bring it.
        seconds: while serving, how long after the ready line; None if a request brings it.
        delays: extra rehearsal seconds by stage.
    """

    def __init__(
        self,
        name: str | None = None,
        delays: dict[str, float] | None = None,
        options: dict[str, Value] | None = None,
    ) -> None:
        options = options or {}
        self.name = name
        self.delays = delays or {}
        self.failure: dict[str, Value] = _failure(name) if name else {}
        self.stage: str | None = self.failure.get("stage")
        self.end: str = self.failure.get("end", "")
        rank = options.get("rank", self.failure.get("rank", 0))
        self.rank: int | None = None if rank == "all" else int(str(rank))
        self.requests = int(options.get("requests", 0))
        self.tokens = int(options.get("tokens", 0))
        self.seconds: float | None = float(options["seconds"]) if "seconds" in options else None

    def strikes(self, stage: str, rank: int | None) -> bool:
        """Whether the failure belongs to `stage` and to this process; `rank` is None for the leader."""
        if self.stage != stage:
            return False
        if rank is None:
            return bool(self.failure["by"] == "leader")
        return self.failure["by"] == "rank" and self.rank in (None, rank)

    def due(self, ready: bool, answered: int, tokens: int) -> bool:
        """Whether a request of `tokens` brings the failure of a scheduler, once `answered` others have been served."""
        if self.failure.get("by") != "rank" or self.seconds is not None:
            return False
        if self.stage == "warmup":
            return not ready
        return self.stage == "serve" and ready and answered >= self.requests and tokens >= self.tokens


def choose(stack: Stack, environment: dict[str, str]) -> Script:
    """The course of this start, from the environment, the numbers of the stack, and the rules of its world."""
    asked = environment.get("DSV4_REHEARSAL_FAIL")
    if asked:
        name, _, written = asked.partition(":")
        return Script(name, options=dict(option.split("=", 1) for option in written.split(",") if option))
    rules = [rule for rule in _rules(stack) if _matches(rule.get("when") or {}, stack, environment)]
    delays: dict[str, float] = {}
    chosen: dict[str, Value] | None = None
    for rule in rules:
        then = rule["then"]
        for stage, seconds in (then.get("delay") or {}).items():
            delays[stage] = delays.get(stage, 0.0) + float(seconds)
        if chosen is None and then.get("fail") and _drawn(then, rule):
            chosen = then
    if chosen is None:
        return Script(delays=delays)
    return Script(chosen["fail"], delays, chosen)


def _rules(stack: Stack) -> list[dict[str, Value]]:
    return list(stack.world.get("rules") or []) + list(RECORD["rules"])


def _failure(name: str) -> dict[str, Value]:
    known = RECORD["failures"]
    if name not in known:
        raise SystemExit("DSV4_REHEARSAL_FAIL: no failure script {!r}; there are: {}".format(name, ", ".join(known)))
    found: dict[str, Value] = known[name]
    return found


def _matches(when: dict[str, Value], stack: Stack, environment: dict[str, str]) -> bool:
    return all(_holds(key, wanted, stack, environment) for key, wanted in when.items())


def _holds(key: str, wanted: Value, stack: Stack, environment: dict[str, str]) -> bool:
    if key == "is":
        return all(trait in stack.traits for trait in _listed(wanted))
    if key == "is_not":
        return not any(trait in stack.traits for trait in _listed(wanted))
    value = environment.get(key[4:]) if key.startswith("env.") else stack.get(key)
    return _in_range(value, wanted, stack) if isinstance(wanted, dict) else value in _listed(wanted)


def _listed(wanted: Value) -> list[Value]:
    return wanted if isinstance(wanted, list) else [wanted]


def _in_range(value: Value, wanted: dict[str, Value], stack: Stack) -> bool:
    """`wanted` is `{above: x}` or `{below: x}`; x is a number or the name of another value."""
    for side, named in wanted.items():
        bound = stack.get(named) if isinstance(named, str) else named
        if value is None or bound is None or not (value > bound if side == "above" else value < bound):
            return False
    return True


def _drawn(then: dict[str, Value], rule: dict[str, Value]) -> bool:
    """Whether a flaky rule strikes this time: the n-th start under the same rule and seed always draws the same."""
    if "probability" not in then:
        return True
    draw = random.Random(f"{then.get('seed', 0)}:{_attempt(rule)}")  # noqa: S311 (chance of a rehearsal, no secret)
    return draw.random() < float(then["probability"])


def _attempt(rule: dict[str, Value]) -> int:
    """How often this rule was asked before on this machine; `DSV4_REHEARSAL_ATTEMPT` overrides the count."""
    fixed = os.environ.get("DSV4_REHEARSAL_ATTEMPT")
    if fixed:
        return int(fixed)
    digest = hashlib.sha256(json.dumps(rule, sort_keys=True).encode()).hexdigest()[:16]
    path = Path(tempfile.gettempdir()) / f"dsv4-rehearsal-{os.getuid()}-{digest}"
    # One byte a start: appending needs no lock.
    descriptor = os.open(path, os.O_CREAT | os.O_APPEND | os.O_WRONLY | os.O_NOFOLLOW, 0o600)
    try:
        os.write(descriptor, b".")
        return os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
