"""Checkups as text and as JSON."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dsv4deploy.model.checked import Checkup

_SHOWN = 12
_WORDS = {"good": "healthy", "bad": "not healthy", "unknown": "cannot be told"}


def render(name: str, checkups: Mapping[str, Checkup], notes: Mapping[str, Sequence[str]]) -> str:
    """One line for each check, with what is behind a failure; nodes that are alike are told once."""
    lines: list[str] = []
    first: dict[tuple[str, ...], str] = {}
    for node, one in checkups.items():
        head = "  ".join(word for word in (node, name, _WORDS[one.state]) if word)
        told = tuple(_lines(one, notes[node]))
        same_as = first.setdefault((one.state, *told), node)
        lines += [head, *told] if same_as == node else [f"{head}, as {same_as}"]
    return "".join(f"{line}\n" for line in lines)


def changed(before: Mapping[str, Checkup], now: Mapping[str, Checkup]) -> tuple[str, ...]:
    """The nodes that a watcher is told of: whose state, or the state of any of whose checks, is not what it was."""
    return tuple(node for node, one in now.items() if node not in before or _states(one) != _states(before[node]))


def _states(checkup: Checkup) -> dict[str, str]:
    return {"": checkup.state, **{one.check: one.state for one in checkup.checks}}


def machine(checkups: Mapping[str, Checkup], notes: Mapping[str, Sequence[str]], lost: Sequence[str]) -> dict[str, Any]:
    """The same for programs, `health/1`."""
    servers = [
        {"node": node, **one.model_dump(mode="json", exclude={"manifest", "settings"}), "notes": list(notes[node])}
        for node, one in checkups.items()
    ]
    return {"schema": "health/1", "servers": servers, "unreachable": list(lost)}


def _lines(checkup: Checkup, notes: Sequence[str]) -> Iterator[str]:
    for one in checkup.checks:
        yield f"  {one.state:<8} {one.check:<12} {one.told}"
        if one.state == "bad":
            yield from (f"             {line}" for line in one.details[1 : _SHOWN + 1])
    yield from (f"  note: {note}" for note in notes)
