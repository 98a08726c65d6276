"""What `status` says of a server that does not run, and `history` of what was done."""

from typing import Any

import pytest

from dsv4deploy.model.observed import Deployment
from dsv4deploy.views.serving import history, status

TRIAL = {"to": "b" * 64, "from": "a" * 64}
REBOOTED = "it went with a reboot of the node, and nothing starts it again by itself"
ASIDE = "  stopped for an experiment of ada@laptop since 12:00, and comes back after it"
BACK = f"  ~ release {'b' * 12} was on trial: the next start or apply goes back to {'a' * 12} first"


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({"unit": {"active": "inactive", "result": "success"}}, []),
        ({"unit": {"active": "failed", "result": "exit-code"}}, ["  ~ process: exit-code"]),
        ({"unit": {"active": "inactive", "result": REBOOTED}}, [f"  ~ process: {REBOOTED}"]),
        ({"unit": {"active": "inactive", "result": REBOOTED}, "pending": TRIAL}, [f"  ~ process: {REBOOTED}", BACK]),
        ({"running": {"pid": 7}, "pending": TRIAL}, []),
        ({"aside": {"who": "ada@laptop", "since": "12:00"}}, [ASIDE]),
    ],
)
def test_how_it_ended_and_what_a_trial_that_it_left_means(seen: dict[str, Any], told: list[str]) -> None:
    has = Deployment.model_validate({"current": "b" * 64, **seen})
    assert status([("gpu01", "flash", has)]).splitlines()[1:] == told


def test_the_history_says_what_was_repaired() -> None:
    entry = {"at": "2026-11-29T20:00:00Z", "verb": "repaired", "to": "a" * 64, "what": ["manifest.json", "nccl.env"]}
    told = history({"gpu01": {"current": "a" * 64, "releases": ["a" * 64], "history": [entry]}})
    assert told.splitlines()[1:] == [f"  2026-11-29T20:00:00Z  repaired  {'a' * 12}  manifest.json, nccl.env"]
