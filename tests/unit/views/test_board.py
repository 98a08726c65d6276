"""The board of an apply: a row for each node under way, a count of the others, whatever the size of the terminal."""

from typing import Any

import pytest
from rich.console import Console

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.plan import Action, Step
from dsv4deploy.views.board import Board

NODES = tuple(f"gpu{number:02d}" for number in range(1, 13))
LOADING: dict[str, Any] = {"state": "progressing", "stage": "load", "seconds": 70.0}
WEIGHTS: dict[str, Any] = {"what": "weights", "percent": 61, "done": 61, "all": 100}


def event(step: str, kind: Kind = Kind.OK, node: str = "gpu01", **answer: Any) -> Event:
    return Event(node, step, kind, {"name": "flash", "verb": step, **answer})


def board(*events: Event, usual_s: float | None = None) -> Board:
    """Twelve nodes, of which those that the events speak of were begun with."""
    one = Board([Step(node, "flash", Action.RESTART, cost_s=usual_s) for node in NODES])
    for node in dict.fromkeys(event.node for event in events):
        one.begin(node, 0.0)
    for event in events:
        one.hear(event, 100.0)
    return one


def lines(one: Board, width: int = 100, height: int = 24, at: float = 160.0, **more: Any) -> list[str]:
    console = Console(width=width, height=height, color_system=None)
    with console.capture() as capture:
        console.print(one.shown(at, width, height, **more))
    return [line.rstrip() for line in capture.get().splitlines()]


def test_a_row_tells_stage_share_and_time_since_the_start() -> None:
    one = board(
        event("stage"),
        event("switch", judging=True),
        event("wait", Kind.RETRY, **LOADING, progress=WEIGHTS),
        usual_s=300,
    )
    row, count = lines(one)
    assert row.startswith("gpu01  loading: weights 61 %  2:10 of about 5:00  ━")
    assert count == "1 under way, 11 to come"


def test_captured_batches_are_counted_and_an_old_bar_is_not_shown() -> None:
    captured = {"what": "captured batches", "percent": 50, "done": 18, "all": 36}
    capture = event("wait", Kind.RETRY, stage="capture", seconds=1, progress=captured)
    assert "capturing: captured batches 18/36" in lines(board(capture))[0]
    old = event("wait", Kind.RETRY, stage="pool", seconds=1, progress=WEIGHTS)
    assert "%" not in lines(board(old))[0]


@pytest.mark.parametrize(
    ("events", "count"),
    [
        ([event("wait", state="ready")], "1 ready, 11 to come"),
        ([event("switch", changed=True, judging=False)], "1 ready, 11 to come"),
        ([event("stage", Kind.FAILED, msg="no")], "1 failed, 11 to come"),
        ([event("wait", Kind.FAILED), event("restore", to=None)], "1 failed, 11 to come"),
        ([event("wait", Kind.FAILED), event("restore", to="b"), event("wait", state="ready")], "1 failed, 11 to come"),
        ([Event("gpu01", "dsv4_node", Kind.UNREACHABLE, {"msg": "gone"})], "1 failed, 11 to come"),
    ],
)
def test_what_has_ended_is_only_counted(events: list[Event], count: str) -> None:
    assert lines(board(*events)) == [count]


def test_a_node_that_goes_back_says_so_until_it_serves_again() -> None:
    one = board(event("wait", Kind.FAILED), event("restore", to="b"), event("wait", Kind.RETRY, **LOADING))
    assert lines(one)[0].startswith("gpu01  going back, loading")


@pytest.mark.parametrize(("width", "height"), [(40, 8), (20, 5), (200, 50)])
def test_it_fits_the_terminal(width: int, height: int) -> None:
    one = board(*(event("wait", Kind.RETRY, node, **LOADING, progress=WEIGHTS) for node in NODES))
    told = lines(one, width, height, stopping=True)
    assert len(told) < height or len(told) == len(NODES) + 1
    assert all(len(line) <= width for line in told)
    assert told[-1].startswith("stopping after")
