"""Events as lines while they happen; a node says the same thing only once."""

import itertools
from collections.abc import Mapping

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.node.stages import ORDER

_WORDS = {
    "stage": "preflight ok, release uploaded",
    "switch": "started",
    "rollback": "started",
    "start": "started",
    "stop": "stopped",
    "restart": "restarted",
    "restore": "the release before takes over",
}
_PHASES = {"load": "weights", "capture": "capture", "warmup": "warm-up"}
_A_MINUTE = 60


class Progress:
    """Remembers what was said, so that only news is."""

    def __init__(self) -> None:
        self._said: dict[tuple[str, str], str] = {}

    def line(self, event: Event) -> str | None:
        """What is to be shown for `event`; None if it is no news."""
        told = _told(event)
        key = (event.node, event.name)
        if told is None or self._said.get(key) == told:
            return None
        self._said[key] = told
        return f"{event.node}  {event.name}  {told}" if event.name else f"{event.node}  {told}"


def _told(event: Event) -> str | None:
    if event.kind is Kind.UNREACHABLE:
        return f"cannot be reached: {_first(event.answer)}"
    if event.kind is Kind.FAILED:
        told = _first(event.answer)
        return (told if event.step == "wait" else f"failed: {told}") if event.step in {*_WORDS, "wait"} else None
    if event.step == "wait":
        return _waiting(event.answer)
    if event.step in {"switch", "stage", "restore"} and not (
        event.answer.get("changed") or event.answer.get("already")
    ):
        return None
    if event.step == "switch" and event.answer.get("started") is False:
        return "changed in place: what runs goes on"
    return _WORDS.get(event.step)


def _waiting(answer: Mapping[str, object]) -> str:
    if answer.get("state") == "ready":
        seconds = answer.get("seconds")
        if not isinstance(seconds, int | float):
            return "ready"
        return f"ready after {_time(seconds)}{_phases(answer) if seconds >= _A_MINUTE else ''}"
    return f"{answer.get('state')}: {answer.get('stage')}"


def _phases(answer: Mapping[str, object]) -> str:
    """How long the phases took that take long, from when each stage was entered."""
    entered = answer.get("stages")
    times = sorted(entered.items(), key=lambda one: (one[1], ORDER[one[0]])) if isinstance(entered, Mapping) else []
    lasted = {stage: until - at for (stage, at), (_, until) in itertools.pairwise(times)}
    told = [f"{words} {_time(lasted[stage])}" for stage, words in _PHASES.items() if lasted.get(stage, 0) >= 1]
    return f" ({', '.join(told)})" if told else ""


def _time(seconds: float) -> str:
    whole = round(seconds)
    return f"{whole} s" if whole < _A_MINUTE else f"{whole // 60}:{whole % 60:02}"


def _first(answer: Mapping[str, object]) -> str:
    lines = str(answer.get("msg") or "no reason given").strip().splitlines()
    return lines[0] if lines else "no reason given"
