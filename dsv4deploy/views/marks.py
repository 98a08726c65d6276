"""Marks as a list, as a page and as JSON."""

from collections.abc import Iterator, Sequence
from typing import Any

from dsv4deploy.model.mark import Mark

_EXCERPT = 12


def table(marks: Sequence[Mark]) -> str:
    """One line for each mark."""
    if not marks:
        return "No marks: nothing is known to have failed."
    rows = [(mark.id, mark.last.at[:10], _count(mark), _covers(mark), _state(mark)) for mark in marks]
    widths = [max(len(row[column]) for row in rows) for column in range(4)]
    return "\n".join(
        "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]).rstrip()
        for row in rows
    )


def page(mark: Mark, path: str) -> str:
    """Everything about one mark."""
    return "\n".join(_lines(mark, path))


def machine(marks: Sequence[Mark]) -> dict[str, Any]:
    """The same for programs, `marks/1`."""
    return {"schema": "marks/1", "marks": [mark.model_dump(mode="json", by_alias=True) for mark in marks]}


def _lines(mark: Mark, path: str) -> Iterator[str]:
    yield f"{mark.id}  ({path})"
    yield f"  failure  {mark.class_ or 'not recognised'} in {mark.last.stage or 'its start'}"
    yield f"  covers   {_covers(mark)}"
    core = {name: value for name, value in mark.core.model_dump(exclude={"model_facts"}).items() if value}
    yield f"  stack    {', '.join(f'{name} {value}' for name, value in core.items())}"
    for name, value in mark.condition.settings.items():
        yield f"  setting  {name} = {value}{_written(mark, name)}"
    for name, value in mark.condition.environment.items():
        yield f"  variable {name}={value}"
    for kind, amount in mark.condition.demand.items():
        yield f"  load     health.{kind} = {amount}"
    for seen in mark.sightings:
        host = ", ".join(f"{name} {value}" for name, value in seen.host.model_dump(exclude_none=True).items())
        yield f"  seen     {seen.at} on {seen.node}, release {seen.release or 'unknown'} ({host or 'host unknown'})"
        yield f"           {seen.root}"
    if mark.retired:
        yield f"  retired  {mark.retired.at}: {mark.retired.because}"
    yield from (f"    {line}" for line in mark.excerpt[-_EXCERPT:])


def _written(mark: Mark, name: str) -> str:
    """What was written of a setting, where that is not what took effect."""
    written = mark.condition.written
    if name not in written:
        return ""
    return "  (left to the engine)" if written[name] is None else f"  (written: {written[name]})"


def _covers(mark: Mark) -> str:
    if mark.rule:
        return f"what rule {mark.rule} finds"
    return "exactly this configuration" + (", at this load or more" if mark.condition.demand else "")


def _count(mark: Mark) -> str:
    return "seen once" if len(mark.sightings) == 1 else f"seen {len(mark.sightings)} times"


def _state(mark: Mark) -> str:
    return "retired" if mark.retired else "rehearsal" if mark.core.rehearsal else ""
