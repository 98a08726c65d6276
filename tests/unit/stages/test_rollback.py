"""Going back is planned from what the nodes have, before anything is touched."""

from typing import Any

import pytest

from dsv4deploy.model.observed import Observation
from dsv4deploy.model.plan import Action
from dsv4deploy.stages.rollback import rollback

NOW, BEFORE, OTHER = "a" * 64, "ab" * 32, "c" * 64
RUNNING = {"pid": 7}
HAS = {"current": NOW, "releases": [NOW, BEFORE, OTHER], "earlier": BEFORE, "running": RUNNING, "start_seconds": [5]}
LOCK = {"token": "t", "who": "anna@desk", "since": "now", "seen_s": 3}
TRIAL = {"to": NOW, "from": OTHER}


def seen(**deployment: Any) -> Observation:
    whole = {"root": "/o", "boot_id": "b", "python": "3.11", "disk_free_mib": 1}
    return Observation.model_validate({**whole, "deployments": {"flash": {**HAS, **deployment}}})


@pytest.mark.parametrize(
    ("deployment", "to", "action", "release"),
    [
        ({}, None, Action.RESTART, BEFORE),
        ({"running": None}, None, Action.START, BEFORE),
        ({}, OTHER[:8], Action.RESTART, OTHER),
        ({}, NOW, Action.NONE, NOW),
        ({"running": None}, NOW, Action.START, NOW),
        ({"pending": TRIAL}, None, Action.RESTART, OTHER),
        ({"pending": TRIAL}, NOW, Action.RESTART, NOW),
    ],
)
def test_a_node_goes_back_to_the_release_that_is_meant(
    deployment: dict[str, Any], to: str | None, action: Action, release: str
) -> None:
    [step] = rollback("flash", {"gpu01": seen(**deployment)}, to).steps
    assert (step.action, step.release, step.current, step.cost_s) == (action, release, NOW, 5)


@pytest.mark.parametrize(
    ("deployment", "to", "told"),
    [
        ({"earlier": None}, None, "no earlier release here that was ever healthy"),
        ({}, "d", "no releases of flash here start with d: it has aaaaaaaaaaaa, abababababab, cccccccccccc"),
        ({}, "a", "2 releases"),
        ({"lock": LOCK}, None, "anna@desk applies here since now"),
        ({"pending": {"to": NOW}}, None, "no earlier release"),
    ],
)
def test_what_cannot_go_back_is_refused_with_the_reason(deployment: dict[str, Any], to: str | None, told: str) -> None:
    plan = rollback("flash", {"gpu01": seen(**deployment)}, to)
    assert plan.work == ()
    assert told in plan.refused[0].changes[0].reason


def test_a_lock_whose_controller_is_gone_does_not_count() -> None:
    assert rollback("flash", {"gpu01": seen(lock=LOCK)}, gone=frozenset({"t"})).work


def test_a_node_that_did_not_answer_is_a_step_and_one_without_the_deployment_is_none() -> None:
    plan = rollback("pearl", {"gpu01": seen(), "gpu02": "no route to host"})
    assert [(step.node, step.action) for step in plan.steps] == [("gpu02", Action.UNREACHABLE)]
