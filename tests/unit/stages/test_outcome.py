"""What the events of an apply come to, node by node, and as an exit code."""

from typing import Any

import pytest

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.plan import Action, Change, Step
from dsv4deploy.model.trouble import Exit
from dsv4deploy.stages.outcome import End, code, outcomes, passed_over

STEP = Step("gpu01", "flash", Action.RESTART, release="a" * 64)


REFUSALS = [
    (
        Step("gpu02", "flash", Action.UNREACHABLE, (Change("node", "no route to host"),)),
        End.UNREACHABLE,
        Exit.APPLY_FAILED,
    ),
    (Step("gpu02", "flash", Action.REFUSE, (Change("ports", "port 1 is taken"),)), End.REFUSED, Exit.APPLY_FAILED),
    (
        Step("gpu02", "flash", Action.REFUSE, (Change("mark:x", "failed before\n  = retire"),)),
        End.KNOWN_BAD,
        Exit.FOUND,
    ),
    (
        Step("gpu02", "flash", Action.REFUSE, (Change("mark:x", "failed before"), Change("ports", "taken"))),
        End.REFUSED,
        Exit.APPLY_FAILED,
    ),
]


@pytest.mark.parametrize(("step", "end", "exit_code"), REFUSALS)
def test_a_step_that_the_plan_refuses_has_an_outcome_too(step: Step, end: End, exit_code: Exit) -> None:
    [one] = passed_over([step])
    assert (one.node, one.end, code([one])) == ("gpu02", end, exit_code)
    assert one.told == "; ".join(change.reason.splitlines()[0] for change in step.changes)


def event(step: str, kind: Kind = Kind.OK, node: str = "gpu01", **answer: Any) -> Event:
    return Event(node, step, kind, {"name": "flash", "verb": step, **answer})


STAGED, SWITCHED = event("stage"), event("switch", changed=True)
FAILED = event("wait", Kind.FAILED, state="failed", msg="failed at stage capture: boom", lines=["boom"])
RESTORED = event("restore", changed=True, to="b" * 64)
LOST = Event("gpu01", "dsv4_node", Kind.UNREACHABLE, {"msg": "timed out"})


@pytest.mark.parametrize(
    ("events", "end", "exit_code", "told"),
    [
        ([STAGED, SWITCHED, event("wait", state="ready", seconds=5.0)], End.APPLIED, Exit.FINE, ""),
        ([], End.UNTOUCHED, Exit.FINE, "earlier batch"),
        ([event("stage", Kind.FAILED, msg="port 1 is taken")], End.FAILED, Exit.APPLY_FAILED, "port 1 is taken"),
        (
            [LOST],
            End.LOST,
            Exit.APPLY_FAILED,
            "timed out; if its new release was started and was not ready at once, it goes back",
        ),
        ([STAGED, SWITCHED, LOST], End.LOST, Exit.APPLY_FAILED, "goes back by itself"),
        (
            [STAGED, SWITCHED, FAILED, RESTORED, event("wait", state="ready")],
            End.ROLLED_BACK,
            Exit.ROLLED_BACK,
            "boom; release bbbbbbbbbbbb serves again",
        ),
        (
            [STAGED, SWITCHED, FAILED, RESTORED, event("wait", Kind.FAILED, state="failed")],
            End.DOWN,
            Exit.NOT_ROLLED_BACK,
            "is not ready",
        ),
        (
            [STAGED, SWITCHED, FAILED, event("restore", changed=True, to=None)],
            End.ROLLED_BACK,
            Exit.ROLLED_BACK,
            "nothing runs now",
        ),
        (
            [STAGED, SWITCHED, FAILED, event("restore", Kind.FAILED, msg="no")],
            End.DOWN,
            Exit.NOT_ROLLED_BACK,
            "could not be brought back",
        ),
        (
            [
                STAGED,
                event("switch", Kind.FAILED, msg="bert works here"),
                event("restore", Kind.FAILED, error={"word": "locked", "message": "bert works here"}),
            ],
            End.FAILED,
            Exit.APPLY_FAILED,
            "bert works here; what runs there is theirs to tell",
        ),
        (
            [STAGED, event("switch", Kind.FAILED, msg="moved"), event("restore", changed=False, to="b" * 64)],
            End.FAILED,
            Exit.APPLY_FAILED,
            "nothing was switched",
        ),
        (
            [
                STAGED,
                SWITCHED,
                FAILED,
                event("restore", changed=False, already=True, to="b" * 64),
                event("wait", state="ready"),
            ],
            End.ROLLED_BACK,
            Exit.ROLLED_BACK,
            "serves again",
        ),
    ],
)
def test_an_apply_comes_to_one_end(events: list[Event], end: End, exit_code: Exit, told: str) -> None:
    found = outcomes([STEP], events)
    assert (found[0].end, code(found)) == (end, exit_code)
    assert told in found[0].told


def test_the_worst_node_decides() -> None:
    other = Step("gpu02", "flash", Action.RESTART)
    found = outcomes(
        [STEP, other], [STAGED, SWITCHED, event("wait", state="ready"), event("stage", Kind.FAILED, "gpu02", msg="no")]
    )
    assert ([one.end for one in found], code(found)) == ([End.APPLIED, End.FAILED], Exit.APPLY_FAILED)
