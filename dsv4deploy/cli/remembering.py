"""Writes down what an apply taught: marks of what failed, and what ran."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from dsv4deploy.flow import Asked, Looked
from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.mark import Mark, Success
from dsv4deploy.rim import marks
from dsv4deploy.stages.marks import key_of, mark_of, worth_a_mark
from dsv4deploy.stages.outcome import End, Outcome


@dataclass(frozen=True, slots=True)
class Kept:
    """What was written down, and the line that tells it."""

    told: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Memory:
    """The profiles of an apply, by node and name: the question about each, and what was told with the node's facts."""

    asked: Mapping[tuple[str, str], Asked]
    looked: Mapping[tuple[str, str], Looked]

    def keep(self, outcomes: Sequence[Outcome], events: Sequence[Event]) -> tuple[Kept, ...]:
        """Write down every failure of a configuration, and every success."""
        known = [one for one in outcomes if (one.node, one.name) in self.looked]
        found = [kept for one in known for kept in (self._success(one), self._failure(one, events)) if kept]
        return tuple({kept.told: kept for kept in found}.values())

    def _failure(self, one: Outcome, events: Sequence[Event]) -> Kept | None:
        judged = first_failure(one, events)
        if judged is None or not worth_a_mark(judged.answer):
            return None
        looked, project = self.looked[one.node, one.name], self._project(one)
        mark = mark_of(looked.candidate, judged.answer, looked.report, name=one.name, node=one.node, at=_now())
        path, whole = marks.keep(mark, project)
        covers = f"confirms rule {mark.rule} on this stack" if mark.rule else "covers exactly this configuration"
        seen = f"seen {len(whole.sightings)} times, {covers}" if len(whole.sightings) > 1 else covers
        advice = "a rehearsal: not for git" if mark.core.rehearsal else "commit it; your colleagues will be told"
        return Kept(f"marked known-bad: {path} ({seen}; {advice})", whole)

    def _success(self, one: Outcome) -> Kept | None:
        if one.end is not End.APPLIED:
            return None
        asked, looked = self.asked[one.node, one.name], self.looked[one.node, one.name]
        success = Success(key=key_of(looked.candidate), at=_now(), node=one.node, name=one.name, seconds=one.seconds)
        marks.remember(success, self._project(one))
        again = [d.rule.partition(":")[2] for d in looked.report.diagnostics if d.rule.partition(":")[2] in asked.retry]
        if not again:
            return None
        return Kept(f"what {again[0]} says did not happen again: dsv4deploy marks retire {again[0]} --because REASON")

    def _project(self, one: Outcome) -> Path:
        return Path(self.asked[one.node, one.name].path).parent


def first_failure(one: Outcome, events: Sequence[Event]) -> Event | None:
    """The judgement that ended the start of the wanted release, before anything was brought back."""
    for event in events:
        if (event.node, event.name) == (one.node, one.name):
            if event.step in {"restore", "rollback"}:
                return None
            if event.step == "wait" and event.kind is Kind.FAILED:
                return event
    return None


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
