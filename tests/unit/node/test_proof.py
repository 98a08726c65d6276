"""What a running server shows of its patches, from its log and its own account."""

import pytest

from dsv4deploy.node.proof import active

LOG = {"patch": "mma", "log": "using the MMA kernel", "server_info": None}
FIELD = {"patch": "mma", "log": None, "server_info": {"field": "attention_backend", "value": "mma"}}


@pytest.mark.parametrize(
    ("proof", "lines", "info", "wanted"),
    [
        (LOG, ["x", "[TP0] using the MMA kernel for decode"], None, True),
        (LOG, ["using another kernel"], None, False),
        (FIELD, [], {"attention_backend": "mma"}, True),
        (FIELD, [], {"attention_backend": "triton"}, False),
        (FIELD, [], {}, False),
        (FIELD, [], None, None),
        (LOG, None, None, None),
        # What is said at the start is out of sight once the server has written much.
        (LOG, ["POST /generate"] * 20000, None, None),
        (LOG, ["x" * 4200] * 1000, None, None),
        (LOG, ["using another kernel"] * 19999, None, False),
        (LOG, ["POST /generate"] * 19999 + ["using the MMA kernel"], None, True),
        ({**FIELD, "server_info": {"field": "mma", "value": None}}, [], {"mma": True}, True),
        ({**FIELD, "server_info": {"field": "mma", "value": None}}, [], {"mma": False}, False),
        ({**FIELD, "log": "using the MMA kernel"}, [], {"attention_backend": "mma"}, False),
        ({"patch": "mma", "log": None, "server_info": None}, ["anything"], {}, None),
    ],
)
def test_active_is_shown_by_what_the_patch_declares(
    proof: dict[str, object], lines: list[str] | None, info: dict[str, object] | None, wanted: bool | None
) -> None:
    answer = active([proof], lines, info)
    assert answer[0]["active"] is wanted
    assert answer[0]["told"]
