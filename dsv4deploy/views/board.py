"""What happens on many nodes right now: a row for each one under way, and a count of the others."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from rich.console import Group
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.plan import Step

_STAGES = {
    "args": "starting",
    "init": "initializing",
    "load": "loading",
    "pool": "making the pool",
    "capture": "capturing",
    "warmup": "warming up",
    "serve": "first answers",
}
# The newest bar of a log stays the newest when its stage is over.
_BARS = {"weights": "load", "captured batches": "capture", "captured prefill sizes": "capture"}
_STAGED = {"stage": "installed", "switch": "started", "rollback": "started", "restore": "going back"}
_WIDE = 72
_BAR, _GAP = 16, 2


@dataclass(slots=True)
class Row:
    """One deployment on one node: what it does, since when, how far it is, and how it ended."""

    node: str
    name: str
    usual_s: float | None = None
    doing: str = ""
    began: float | None = None
    bar: tuple[str, float] | None = None
    end: Kind | None = None

    @property
    def under_way(self) -> bool:
        return self.began is not None and self.end is None


class Board:
    """Follows the events of an apply; times are seconds on one clock of the caller's."""

    def __init__(self, steps: Iterable[Step]) -> None:
        self._rows = [Row(step.node, step.name, step.cost_s) for step in steps]
        self._named = len({row.name for row in self._rows}) > 1

    def begin(self, node: str, at: float) -> None:
        """A node is worked on: the first of its deployments that is not done yet."""
        row = next((row for row in self._rows if row.node == node and row.end is None), None)
        if row is not None and row.began is None:
            row.began, row.doing = at, "checking, uploading"

    def hear(self, event: Event, at: float) -> None:
        """Something came of a step."""
        for row in self._rows:
            if row.node == event.node and event.name in {row.name, ""} and row.end is None:
                _hear(row, event, at)

    def shown(self, at: float, width: int, height: int, *, stopping: bool = False) -> Group:
        """The rows under way that fit, and the count."""
        active = [row for row in self._rows if row.under_way]
        room = max(1, height - 3)
        more = [Text(f"and {len(active) - room} more", style="dim")] if len(active) > room else []
        return Group(self._table(active[:room], at, width), *more, self._count(stopping=stopping))

    def _table(self, rows: Sequence[Row], at: float, width: int) -> Table:
        names = [f"{row.node}  {row.name}" if self._named else row.node for row in rows]
        times = [_time(row, at, width) for row in rows]
        bars = [ProgressBar(100, row.bar[1], _BAR) if row.bar else "" for row in rows]
        # What a narrow terminal takes away, it takes from what the nodes do.
        kept = sum(max(map(len, texts), default=0) + _GAP for texts in (names, times))
        table = Table.grid(padding=(0, _GAP, 0, 0))
        table.add_column(no_wrap=True)
        table.add_column(no_wrap=True, overflow="ellipsis", max_width=max(1, width - kept - _GAP))
        table.add_column(no_wrap=True, justify="right")
        for name, row, spent, bar in zip(names, rows, times, bars, strict=True):
            table.add_row(name, _doing(row), spent, *([bar] if width >= _WIDE else []))
        return table

    def _count(self, *, stopping: bool) -> Text:
        of = {
            "ready": sum(row.end is Kind.OK for row in self._rows),
            "failed": sum(row.end in {Kind.FAILED, Kind.UNREACHABLE} for row in self._rows),
            "under way": sum(row.under_way for row in self._rows),
            "to come": sum(row.began is None and row.end is None for row in self._rows),
        }
        told = ", ".join(f"{count} {what}" for what, count in of.items() if count)
        return Text(
            f"stopping after this step; {told}" if stopping else told, style="dim", overflow="ellipsis", no_wrap=True
        )


def _hear(row: Row, event: Event, at: float) -> None:
    row.began = at if row.began is None else row.began
    going_back = row.doing.startswith("going back")
    if event.kind is Kind.UNREACHABLE or (
        event.kind is Kind.FAILED and (going_back or event.step not in {"switch", "rollback", "wait"})
    ):
        row.end = event.kind
    elif event.kind is Kind.FAILED:
        row.doing, row.bar = "going back", None
    elif event.step == "wait":
        _judged(row, event.answer, at, going_back=going_back)
        if event.kind is Kind.OK:
            row.end = Kind.FAILED if going_back else Kind.OK
    elif event.step in {"switch", "rollback"} and not event.answer.get("judging"):
        row.end = Kind.OK  # repaired in place: nothing starts
    elif event.step == "restore" and not event.answer.get("to"):
        row.end = Kind.FAILED
    else:
        row.doing = _STAGED.get(event.step, row.doing)


def _judged(row: Row, answer: Mapping[str, object], at: float, *, going_back: bool) -> None:
    stage, seconds, progress = str(answer.get("stage")), answer.get("seconds"), answer.get("progress")
    told = _STAGES.get(stage, stage)
    row.doing = f"going back, {told}" if going_back else told
    row.began = at - seconds if isinstance(seconds, int | float) else row.began
    row.bar = None
    if isinstance(progress, Mapping) and _BARS.get(str(progress.get("what")), stage) == stage:
        weights = progress["what"] == "weights"
        share = f"{progress['percent']} %" if weights else f"{progress['done']}/{progress['all']}"
        row.bar = (f"{progress['what']} {share}", float(progress["percent"]))


def _doing(row: Row) -> str:
    return f"{row.doing}: {row.bar[0]}" if row.bar else row.doing


def _time(row: Row, at: float, width: int) -> str:
    spent = _clock(at - (row.began or at))
    return f"{spent} of about {_clock(row.usual_s)}" if row.usual_s and width >= _WIDE else spent


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"
