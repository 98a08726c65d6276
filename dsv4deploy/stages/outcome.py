"""Events of an apply to what became of each deployment on each node."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.plan import Action, Change, Step
from dsv4deploy.model.trouble import Exit
from dsv4deploy.stages.marks import PREFIX

_VERBS = {"stage", "switch", "wait", "restore", "rollback"}


class End(StrEnum):
    """How an apply ended for one deployment on one node."""

    APPLIED = "applied"
    UNTOUCHED = "untouched"
    FAILED = "failed"
    LOST = "lost"
    ROLLED_BACK = "rolled back"
    DOWN = "down"
    REFUSED = "refused"
    KNOWN_BAD = "known-bad"
    UNREACHABLE = "unreachable"


# The worst one decides the exit code.
_CODES = {
    End.APPLIED: Exit.FINE,
    End.UNTOUCHED: Exit.FINE,
    End.FAILED: Exit.APPLY_FAILED,
    End.LOST: Exit.APPLY_FAILED,
    End.ROLLED_BACK: Exit.ROLLED_BACK,
    End.DOWN: Exit.NOT_ROLLED_BACK,
    End.REFUSED: Exit.APPLY_FAILED,
    End.KNOWN_BAD: Exit.FOUND,
    End.UNREACHABLE: Exit.APPLY_FAILED,
}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one step, in a sentence; `seconds` from the switch to ready, `lines` the last of the log."""

    node: str
    name: str
    end: End
    told: str = ""
    seconds: float | None = None
    lines: tuple[str, ...] = ()


def outcomes(steps: Sequence[Step], events: Sequence[Event]) -> tuple[Outcome, ...]:
    """One outcome for each step, in their order."""
    return tuple(
        _outcome(step, [e for e in events if e.node == step.node and e.name in {step.name, ""}]) for step in steps
    )


def passed_over(steps: Sequence[Step]) -> tuple[Outcome, ...]:
    """What became of the steps that a plan refuses."""
    return tuple(
        Outcome(step.node, step.name, _passed_over(step), "; ".join(_reason(change) for change in step.changes))
        for step in steps
    )


def _passed_over(step: Step) -> End:
    if step.action is Action.UNREACHABLE:
        return End.UNREACHABLE
    by_mark = step.changes and all(change.subject.startswith(PREFIX) for change in step.changes)
    return End.KNOWN_BAD if by_mark else End.REFUSED


def _reason(change: Change) -> str:
    """The reason in one line; its remedy stands in the plan."""
    return change.reason.partition("\n")[0]


def code(found: Iterable[Outcome]) -> Exit:
    """The exit code of all of them together."""
    return max((_CODES[one.end] for one in found), default=Exit.FINE)


def _outcome(step: Step, events: Sequence[Event]) -> Outcome:
    node, name = step.node, step.name
    own = [event for event in events if event.step in _VERBS and event.kind is not Kind.RETRY]
    lost = next((event for event in events if event.kind is Kind.UNREACHABLE), None)
    by_verb = {event.step: event for event in own}
    restored = by_verb.get("restore")
    if restored is not None:
        return _restored(step, own, restored) if restored.kind is Kind.OK else _not_restored(step, own, restored)
    if lost is not None:
        return Outcome(node, name, End.LOST, f"the node cannot be reached any more: {_message(lost)}; {_left(by_verb)}")
    failed = next((event for event in reversed(events) if event.kind is Kind.FAILED), None)
    if failed is not None:
        return Outcome(node, name, End.FAILED, _message(failed))
    if "switch" not in by_verb and "rollback" not in by_verb:
        return Outcome(node, name, End.UNTOUCHED, "not reached: an earlier batch failed")
    judged = by_verb.get("wait")
    return Outcome(node, name, End.APPLIED, seconds=judged.answer.get("seconds") if judged else None)


def _left(by_verb: Mapping[str, Event]) -> str:
    """What a node that was lost does now, as far as anybody here can know."""
    if "switch" in by_verb or "rollback" in by_verb:
        return "it goes back by itself unless it is applied again"
    return "if its new release was started and was not ready at once, it goes back by itself unless it is applied again"


def _restored(step: Step, own: Sequence[Event], restored: Event) -> Outcome:
    """A restore that went through: what runs now, judged again."""
    judged = own[own.index(restored) + 1 :]
    before = [event for event in own[: own.index(restored)] if event.step == "wait"]
    lines = tuple(before[-1].answer.get("lines") or ()) if before else ()
    why, to = _why(own), restored.answer.get("to")
    if not restored.answer.get("changed") and not restored.answer.get("already"):
        return Outcome(step.node, step.name, End.FAILED, f"{why}; nothing was switched")
    if not to:
        return Outcome(
            step.node, step.name, End.ROLLED_BACK, f"{why}; nothing ran here before, and nothing runs now", lines=lines
        )
    if any(event.step == "wait" and event.answer.get("state") == "ready" for event in judged):
        return Outcome(step.node, step.name, End.ROLLED_BACK, f"{why}; release {to[:12]} serves again", lines=lines)
    return Outcome(
        step.node, step.name, End.DOWN, f"{why}; release {to[:12]} was started again, and is not ready", lines=lines
    )


def _not_restored(step: Step, own: Sequence[Event], restored: Event) -> Outcome:
    """A restore that failed: what runs now is down, or somebody else's to tell."""
    if _word(restored) == "locked":
        return Outcome(step.node, step.name, End.FAILED, f"{_message(restored)}; what runs there is theirs to tell")
    told = f"{_why(own)}; and the release before could not be brought back: {_message(restored)}"
    return Outcome(step.node, step.name, End.DOWN, told)


def _why(own: Sequence[Event]) -> str:
    """What went wrong first."""
    failed = next((event for event in own if event.kind is Kind.FAILED), None)
    return _message(failed) if failed else "it was not ready in time"


def _word(event: Event) -> str:
    error = event.answer.get("error")
    return str(error.get("word")) if isinstance(error, dict) else ""


def _message(event: Event) -> str:
    error = event.answer.get("error")
    if isinstance(error, dict):
        return f"{error['message']} ({error['remedy']})" if error.get("remedy") else str(error["message"])
    lines = [line for line in str(event.answer.get("msg") or event.task).splitlines() if line.strip()]
    return lines[0] if lines else event.task
