"""What `status` says of a server that does not run."""

from typing import Any

import pytest

from dsv4deploy.model.observed import Deployment
from dsv4deploy.views.serving import status

TRIAL = {"to": "b" * 64, "from": "a" * 64}
REBOOTED = "it went with a reboot of the node, and nothing starts it again by itself"
BACK = f"  ~ release {'b' * 12} was on trial: the next start or apply goes back to {'a' * 12} first"


@pytest.mark.parametrize(
    ("seen", "told"),
    [
        ({"unit": {"active": "inactive", "result": "success"}}, []),
        ({"unit": {"active": "failed", "result": "exit-code"}}, ["  ~ process: exit-code"]),
        ({"unit": {"active": "inactive", "result": REBOOTED}}, [f"  ~ process: {REBOOTED}"]),
        ({"unit": {"active": "inactive", "result": REBOOTED}, "pending": TRIAL}, [f"  ~ process: {REBOOTED}", BACK]),
        ({"running": {"pid": 7}, "pending": TRIAL}, []),
    ],
)
def test_how_it_ended_and_what_a_trial_that_it_left_means(seen: dict[str, Any], told: list[str]) -> None:
    has = Deployment.model_validate({"current": "b" * 64, **seen})
    assert status([("gpu01", "flash", has)]).splitlines()[1:] == told
