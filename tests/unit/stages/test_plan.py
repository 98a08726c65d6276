"""A plan says everything that changes and why, and nothing else."""

from typing import Any

import pytest

from dsv4deploy.model.observed import Deployment, Observation
from dsv4deploy.model.plan import Action, Wanted
from dsv4deploy.stages.plan import differences, plan

NEW, OLD = "a" * 64, "b" * 64
RUNNING = {"pid": 7, "as_written": True}


def wanted(**manifest: Any) -> Wanted:
    base = {
        "name": "flash",
        "digest": NEW,
        "argv": ["--port", "1"],
        "environment": {},
        "files": [{"path": "serve.sh", "sha256": "1"}],
    }
    return Wanted("gpu01", {**base, **manifest}, {"serve.sh": "new\n"})


def seen(
    deployment: dict[str, Any] | None = None, against: dict[str, Any] | None = None
) -> dict[str, Observation | str]:
    return {
        "gpu01": Observation.model_validate(
            {
                "root": "/opt/dsv4deploy",
                "boot_id": "b",
                "python": "3.11",
                "disk_free_mib": 1,
                "deployments": {"flash": deployment} if deployment else {},
                "wanted": {"flash": against or {}},
            }
        )
    }


LOCK = {"token": "t", "who": "anna@desk", "since": "now", "seen_s": 3}
OTHER = {"argv": ["--port", "1"], "files": [{"path": "serve.sh", "sha256": "1"}]}


@pytest.mark.parametrize(
    ("deployment", "against", "action", "told"),
    [
        (None, None, Action.FIRST, "not on this node yet"),
        ({"current": NEW, "running": RUNNING}, None, Action.NONE, ""),
        ({"current": OLD, "running": RUNNING, "manifest": OTHER}, None, Action.RESTART, "manifest"),
        ({"current": OLD, "manifest": OTHER}, None, Action.START, "manifest"),
        ({"current": NEW}, None, Action.START, "it does not run"),
        ({"current": NEW, "running": {"pid": 7, "as_written": False}}, None, Action.RESTART, "not what the files say"),
        ({"current": NEW, "running": {"pid": 7}}, None, Action.NONE, ""),
        (
            {"current": NEW, "running": RUNNING, "drift": [{"path": "x", "what": "edited"}]},
            None,
            Action.IN_PLACE,
            "edited",
        ),
        (
            {"current": NEW, "running": RUNNING, "manifest": {"profile": {"health": {"timeout_s": 9}}}},
            None,
            Action.IN_PLACE,
            "health.timeout_s changed with the profile, and needs no start",
        ),
        (
            {"current": NEW, "running": RUNNING, "manifest": {"profile": {"waivers": [{"rule": "a"}]}}},
            None,
            Action.IN_PLACE,
            "waivers",
        ),
        (
            {"current": NEW, "running": RUNNING, "manifest": {"profile": {"model": {"path": "/m"}}}},
            None,
            Action.NONE,
            "",
        ),
        ({"current": NEW, "running": RUNNING, "pending": {"to": NEW}}, None, Action.JUDGE, "trial"),
        ({"current": NEW, "running": RUNNING, "lock": LOCK}, None, Action.REFUSE, "anna@desk"),
        (None, {"problems": [{"check": "ports", "message": "port 1 is taken"}]}, Action.REFUSE, "port 1 is taken"),
    ],
)
def test_what_a_node_has_decides_what_happens_there(
    deployment: dict[str, Any] | None, against: dict[str, Any] | None, action: Action, told: str
) -> None:
    (step,) = plan([wanted()], seen(deployment, against)).steps
    assert step.action is action
    assert told in " ".join(f"{change.subject} {change.reason}" for change in step.changes)
    assert bool(step.changes) == (action is not Action.NONE)


def test_a_lock_of_a_dead_controller_does_not_count() -> None:
    found = plan([wanted()], seen({"current": NEW, "running": RUNNING, "lock": LOCK}), gone=frozenset({"t"}))
    assert found.steps[0].action is Action.NONE


def test_a_node_that_did_not_answer_is_a_step_with_the_reason() -> None:
    found = plan([wanted()], {"gpu01": "no route to host"})
    assert (found.steps[0].action, found.steps[0].changes[0].reason) == (Action.UNREACHABLE, "no route to host")
    assert (found.work, len(found.refused)) == ((), 1)


def test_arguments_variables_and_files_are_told_apart() -> None:
    has = {
        "current": OLD,
        "running": RUNNING,
        "start_seconds": [300, 310],
        "manifest": {
            "argv": ["--port", "1", "--old"],
            "environment": {"A": "1"},
            "files": [{"path": "serve.sh", "sha256": "0"}, {"path": "gone", "sha256": "2"}],
        },
        "texts": {"serve.sh": "old\n"},
    }
    (step,) = plan([wanted(argv=["--port", "2"], environment={"A": "1", "B": "2"})], seen(has)).steps
    assert [(change.subject, change.before, change.after) for change in step.changes] == [
        ("argument --old", "", None),
        ("argument --port", "1", "2"),
        ("variable B", None, "2"),
        ("gone", None, None),
        ("serve.sh", "old\n", "new\n"),
    ]
    assert (step.cost_s, step.stops_a_server) == (310, True)


@pytest.mark.parametrize(
    ("laying", "told"),
    [
        ({"how": "linked", "files": 10490, "bytes": 99 << 20, "seconds": 2.4}, "patches go over a copy of sglang (10,490 files, 99 MiB) by hard links, which take no room; the last one took 2 s"),
        ({"how": "copied", "files": 2, "bytes": 3 << 20}, "patches go over a copy of sglang (2 files, 3 MiB) file by file, which takes that room"),
        ({"how": "unpacked"}, "patches bring another sglang, from a wheel"),
        ({"how": "in place"}, "patches change sglang in the venv itself"),
    ],
)  # fmt: skip
def test_what_the_patches_take_is_told_where_they_will_be_laid(laying: dict[str, Any], told: str) -> None:
    against = {"patches": [{"name": "sglang", **laying}]}
    assert plan([wanted()], seen(None, against)).steps[0].notes == (told,)
    assert plan([wanted()], seen({"current": NEW, "running": RUNNING}, against)).steps[0].notes == ()


def test_a_plan_tells_no_secret_whether_it_comes_goes_or_stays() -> None:
    new = {
        "environment": {"HF_TOKEN": "canary-1"},
        "argv": ["--api-key", "canary-2"],
        "files": [{"path": "a", "sha256": "1"}],
    }
    old = {
        "environment": {"HF_TOKEN": "canary-3"},
        "argv": ["--api-key=canary-4"],
        "files": [{"path": "a", "sha256": "2"}],
    }
    has = Deployment(current="e", manifest=old, texts={"a": "export HF_TOKEN=canary-3\nexport X=canary-4\n"})
    wanted = Wanted("gpu01", {"name": "flash", "digest": "d", **new}, {"a": "export HF_TOKEN=canary-1\nexport X=1\n"})
    told = differences(wanted, has)
    assert "canary" not in str(told)
    assert {"variable HF_TOKEN", "argument --api-key", "argument --api-key=<hidden>", "a"} == {
        one.subject for one in told
    }
