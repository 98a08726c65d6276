"""A plan as text and as JSON."""

import difflib
import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from dsv4deploy.model.plan import Action, Change, Plan, Step

_SHORT = 12
_FILES_SHOWN = 6


def render(plan: Plan) -> str:
    """The plan as a person reads it."""
    if not plan.work and not plan.refused:
        return _no_changes(plan)
    lines: list[str] = []
    first: dict[tuple[object, ...], str] = {}
    for step in plan.steps:
        alike = (step.name, step.action, step.changes, step.release, step.current, step.warnings, step.notes)
        same_as = first.setdefault(alike, step.node)
        lines += _step(step) if same_as == step.node else [f"{step.node}  {step.name}  as {same_as}"]
    return "\n".join([*lines, _closing(plan)]) + "\n"


def machine(plan: Plan) -> str:
    """The plan as JSON, schema `plan/1`."""
    return json.dumps(_document(plan), indent=2) + "\n"


def line(plan: Plan) -> str:
    """The same in one line, the first of a stream of lines."""
    return json.dumps(_document(plan)) + "\n"


def _document(plan: Plan) -> dict[str, object]:
    steps = [
        {**asdict(step), "action": step.action.value, "changes": list(map(asdict, step.changes))} for step in plan.steps
    ]
    return {"schema": "plan/1", "changes": bool(plan.work), "steps": steps}


def _no_changes(plan: Plan) -> str:
    nodes = {step.node for step in plan.steps}
    releases = sorted({step.release[:_SHORT] for step in plan.steps})
    several = "1 node runs" if len(nodes) == 1 else f"{len(nodes)} nodes run"
    return f"No changes. {several} release {', '.join(releases)}.\n"


def _step(step: Step) -> Iterator[str]:
    head = f"{step.node}  {step.name}  "
    if step.action is Action.NONE:
        yield f"{head}no changes: runs release {step.release[:_SHORT]}"
    elif step.action is Action.UNREACHABLE:
        yield from (f"{head}unreachable: {change.reason}" for change in step.changes)
    elif step.action is Action.REFUSE:
        yield from (f"{head}refuse: {change.subject}: {change.reason}" for change in step.changes)
    else:
        yield head + _what(step)
        yield from (line for change in _shown(step) for line in _change(change))
    yield from (f"  warning: {warning}" for warning in step.warnings)
    yield from (f"  note: {note}" for note in step.notes)


def _what(step: Step) -> str:
    release = step.release[:_SHORT]
    came = (
        f"release {(step.current or '')[:_SHORT]} -> {release}"
        if step.current not in {None, step.release}
        else f"release {release}"
    )
    cost = f", about {_duration(step.cost_s)} by its last start" if step.cost_s else ""
    how = {
        Action.FIRST: "first start",
        Action.RESTART: f"one restart{cost}",
        Action.START: f"start{cost}",
        Action.IN_PLACE: "in place, no restart",
        Action.JUDGE: "goes on judging its start",
    }[step.action]
    return f"{came}  ({how})"


def _shown(step: Step) -> Sequence[Change]:
    if step.action is not Action.FIRST or len(step.changes) <= _FILES_SHOWN:
        return step.changes
    return step.changes[:_FILES_SHOWN]


def _change(change: Change) -> Iterator[str]:
    if change.before is not None and change.after is not None and "\n" in change.before + change.after:
        yield f"  ~ {change.subject}: {change.reason}"
        old, new = change.before.splitlines(), change.after.splitlines()
        for line in list(difflib.unified_diff(old, new, lineterm="", n=0))[2:]:
            yield f"      {line}"
    elif change.subject.startswith(("argument ", "variable ")):
        if change.before is not None:
            yield f"  - {change.subject} {change.before}".rstrip()
        if change.after is not None:
            yield f"  + {change.subject} {change.after}".rstrip()
    else:
        yield f"  ~ {change.subject}: {_turned(change)}{change.reason}"


def _turned(change: Change) -> str:
    """From what to what, where there is one of the two."""
    if change.before is None and change.after is None:
        return ""
    return f"{change.before or 'nothing'} -> {change.after or 'nothing'}; "


def _closing(plan: Plan) -> str:
    down = sum(step.stops_a_server for step in plan.work)
    lost = sum(step.action is Action.UNREACHABLE for step in plan.refused)
    goes = "1 running server goes" if down == 1 else f"{down} running servers go"
    words = [f"{len(plan.work)} to change", f"{goes} down for it" if down else "no running server goes down"]
    words += [f"{len(plan.refused) - lost} refused"] if len(plan.refused) > lost else []
    return ", ".join([*words, *([f"{lost} unreachable"] if lost else [])]) + "."


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 90 else f"{seconds / 60:.0f} min"  # noqa: PLR2004 (people count minutes from there on)
