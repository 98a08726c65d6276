"""Shows an apply while it goes on: a live board on a terminal, plain lines elsewhere, JSON lines for programs."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.plan import Step
from dsv4deploy.views.progress import Progress

if TYPE_CHECKING:
    from rich.console import Console, Group

_A_SECOND = 4  # how often the board is drawn
_ENDS = {"wait", "restore"}  # what stays above the board


@dataclass(frozen=True, slots=True)
class Show:
    """What is told of: a node that is begun with, and an event."""

    begin: Callable[[str], None]
    tell: Callable[[Event], None]


@contextmanager
def shown(steps: Sequence[Step], stopping: Callable[[], bool], *, as_json: bool, raw: bool) -> Iterator[Show]:
    """The way that suits; `raw` output of Ansible's own leaves no room for a board."""
    from rich.console import Console

    console = Console(highlight=False, markup=False, emoji=False)
    if as_json:
        yield Show(lambda _: None, _json_line)
    elif console.is_terminal and not console.is_dumb_terminal and not raw:
        with _live(console, steps, stopping) as show:
            yield show
    else:
        progress = Progress()
        yield Show(lambda _: None, lambda event: _say(progress.line(event)))


@contextmanager
def _live(console: "Console", steps: Sequence[Step], stopping: Callable[[], bool]) -> Iterator[Show]:
    from rich.live import Live

    from dsv4deploy.views.board import Board

    board, progress = Board(steps), Progress()

    def tell(event: Event) -> None:
        board.hear(event, time.monotonic())
        line = progress.line(event)
        if line is not None and event.kind is not Kind.RETRY and (event.step in _ENDS or event.kind is not Kind.OK):
            console.print(line, soft_wrap=True)

    def draw() -> "Group":
        return board.shown(time.monotonic(), console.width, console.height, stopping=stopping())

    with Live(console=console, get_renderable=draw, refresh_per_second=_A_SECOND, transient=True):
        yield Show(lambda node: board.begin(node, time.monotonic()), tell)


def _say(line: str | None) -> None:
    """Print a line; where nobody reads any more (`| head`) or there is no room, the work goes on unseen."""
    if line is not None:
        try:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _json_line(event: Event) -> None:
    told = {"schema": "event/1", "node": event.node, "name": event.name, "step": event.step, "kind": event.kind}
    _say(json.dumps({**told, "answer": short(event)}))


def short(event: Event) -> dict[str, Any]:
    """The answer without what only Ansible needs, and without the node's whole description."""
    left_out = {"invocation", "facts", "deployments", "wanted", "schema", "verb", "attempts"}
    return {key: value for key, value in event.answer.items() if key not in left_out and not key.startswith("_")}
