"""Starts of experiments: what came to its end counts whatever becomes of others, and a service always comes back."""

import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from house import looked

from dsv4deploy.cli import launching
from dsv4deploy.cli.arms import Survey
from dsv4deploy.cli.launching import Goal, Node, Started
from dsv4deploy.cli.side_by_side import Hands, launched
from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.experiment import Trial
from dsv4deploy.model.trouble import Trouble

PROFILE = "name: flash\nengine: {version: 0.5.23, venv: /v}\nmodel: {path: /m}\nservice: {timeouts: {start_s: 300}}\n"


@dataclass
class Place:
    """A node where a service runs, which an interrupt reaches at the verb `hit`; `renewed` at the first `renew`."""

    name: str
    address: str = ""
    hit: str = ""
    asked: list[str] = field(default_factory=list)
    renewed: threading.Event = field(default_factory=threading.Event)

    def ask(self, verb: str, deployment: str, **more: Any) -> dict[str, Any]:
        del deployment, more
        self.asked.append(verb)
        if verb == "renew":
            self.renewed.set()
        if verb == self.hit:
            raise KeyboardInterrupt
        return {"running": {"pid": 7}}

    def put(self, bundle: Bundle) -> None:
        raise AssertionError(f"{bundle.name} is not to be installed")


def test_an_arm_that_came_to_its_end_counts_though_another_one_failed() -> None:
    together, arms, counted = threading.Barrier(2), ["well", "badly"], list[str]()

    def launch(_node: Node, arm: str, stopping: threading.Event) -> Started:
        together.wait(10)
        if arm == "badly":
            raise Trouble("the node refuses it")
        assert stopping.wait(10)
        return Started("ready", {}, 1.0)

    hands = Hands(lambda _: arms.pop(0) if arms else None, launch, lambda _node, arm, _started: counted.append(arm))
    with pytest.raises(Trouble, match="the node refuses it"):
        launched([Place("one"), Place("two")], hands)
    assert counted == ["well"]


@pytest.mark.parametrize("hit", ["", "aside"])
def test_a_service_that_was_stopped_is_started_again_even_if_the_interrupt_came_while_it_stopped(
    tmp_path: Path, hit: str
) -> None:
    node = Place("gpu01", hit=hit)
    with pytest.raises(KeyboardInterrupt), launching.aside(node, "flash", tmp_path, leave=False):
        raise KeyboardInterrupt
    assert node.asked == ["status", "aside", "start"]
    assert list(tmp_path.rglob("gpu01-flash")) == []


def test_a_node_is_shown_that_a_run_goes_on_and_not_after_its_end(tmp_path: Path) -> None:
    node = Place("gpu01")
    with launching.aside(node, "flash", tmp_path, leave=False, every_s=0.01):
        assert node.renewed.wait(10)
    assert node.asked[:3] == ["status", "aside", "renew"]
    assert node.asked[-1] == "start"


@pytest.mark.parametrize(
    ("outcome", "seconds", "limit_s", "does"),
    [
        ("ready", 20, 600, True),
        ("oom-load", 20, 600, True),
        ("progressing", 20, 20, True),
        ("progressing", 20.4, 21, True),
        ("progressing", 20, 600, False),
        ("progressing", 20, None, False),
        ("progressing", 301, None, True),
        ("infrastructure", 20, 20, False),
    ],
)
def test_what_was_late_or_in_the_way_of_a_start_is_no_answer_for_ever(
    outcome: str, seconds: float, limit_s: float | None, does: bool
) -> None:
    trial = Trial("x", "a", "k", outcome, "gpu01", "2026-11-29T10:00:00Z", seconds)
    assert launching.counts(trial, looked(PROFILE), Goal(limit_s)) is does


def test_what_was_left_on_trial_ends_if_it_is_our_own_or_in_the_way() -> None:
    found = Survey(
        (), on_trial={"gpu01": ("x-a", "other-a", "far")}, in_the_way={"gpu01": frozenset({"other-a", "pearl"})}
    )
    assert found.left("gpu01", ["x-a", "x-b"]) == {"x-a", "other-a"}
    assert found.left("gpu02", ["x-a"]) == set()
