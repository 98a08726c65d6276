"""The check of patches: good if all show themselves, bad if one does not, unknown if nobody can tell."""

import pytest

from dsv4deploy.node.checks.patches import check
from dsv4deploy.node.checks.target import Target

SHOWN = {"patch": "mma", "log": "MMA kernel", "server_info": None}
SILENT = {"patch": "quiet", "log": None, "server_info": None}


@pytest.mark.parametrize(
    ("proofs", "lines", "state"),
    [
        ([], [], "skipped"),
        ([SHOWN], ["the MMA kernel is used"], "good"),
        ([SHOWN], ["nothing of the kind"], "bad"),
        ([SHOWN], None, "unknown"),
        ([SILENT], [], "unknown"),
        ([SILENT, SHOWN], [], "bad"),
    ],
)
def test_the_state_follows_the_patches(proofs: list[dict[str, object]], lines: list[str] | None, state: str) -> None:
    assert check(Target({"port": 1, "proofs": proofs, "lines": lines})).state == state


def test_a_server_that_cannot_be_asked_leaves_it_unknown() -> None:
    asked = {"patch": "mma", "log": None, "server_info": {"field": "mma", "value": None}}
    assert check(Target({"port": 1, "proofs": [asked], "lines": []})).state == "unknown"
