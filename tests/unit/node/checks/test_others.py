"""Endpoints, log lines, metrics and the rehearsed load, judged from what was answered."""

from typing import Any

import pytest

from dsv4deploy.node.checks import capacity, endpoints, log_lines, metrics
from dsv4deploy.node.checks.target import Answer

FINE, LATE, DEAD = (
    Answer(200, "", 0.1),
    Answer(None, "", 300.0, timed_out=True),
    Answer(None, "Connection refused", 0.0),
)
METRICS = """# HELP sglang:gen_throughput x
# TYPE sglang:gen_throughput gauge
sglang:gen_throughput{model_name="a",tp_rank="0"} 57.25
sglang:gen_throughput{model_name="a",tp_rank="1"} 3.0
sglang:token_usage{model_name="a"} 0.91
sglang:num_queue_reqs{model_name="a"} 12.0
sglang:num_running_reqs{model_name="a"} 3.0
process_resident_memory_bytes 1.5e+09
broken{ nan
"""


def test_endpoints() -> None:
    assert endpoints.judge({"/ready": FINE, "/v1/models": FINE}).state == "good"
    assert endpoints.judge({"/ready": FINE, "/v1/models": Answer(404, "", 0.1)}).told == "/v1/models answered 404"
    assert endpoints.judge({"/health": Answer(503, "", 20.0)}).told.startswith("/health answered 503 (it drains")
    assert endpoints.judge({"/health": DEAD}).state == "bad"
    busy = endpoints.judge({"/health": LATE})
    assert (busy.state, "busy, or hung; not asked again" in busy.told) == ("unknown", True)


def test_log_lines() -> None:
    lines = ["[x] sparse MLA kernel: tensor cores (patched)", "Using default MoE config"]
    assert log_lines.judge(lines, [r"kernel: tensor cores"], [r"Segfault"]).state == "good"
    assert log_lines.judge(lines, [r"SIMT"], []).told == "no line matches 'SIMT'"
    assert log_lines.judge(lines, [], [r"default MoE"]).told == "'default MoE' was said: Using default MoE config"
    assert log_lines.judge(lines, [], []).state == "skipped"


@pytest.mark.parametrize(
    ("bounds", "state"),
    [
        ({"gen_throughput": {"above": 40}}, "good"),
        ({"sglang:gen_throughput": {"above": 60}}, "bad"),
        ({"token_usage": {"below": 0.9}}, "bad"),
        ({"token_usage": {"below": 0.91, "above": 0.91}}, "good"),
        ({"no_such": {"above": 0}}, "bad"),
    ],
)
def test_metrics(bounds: dict[str, Any], state: str) -> None:
    assert metrics.judge(metrics.parsed(METRICS), bounds).state == state


def test_what_status_shows() -> None:
    assert metrics.shown(metrics.parsed(METRICS)) == {"tok_s": 57.25, "running": 3.0, "queue": 12.0, "kv_use": 0.91}


def test_the_rehearsed_load() -> None:
    assert capacity.judge([FINE, FINE], FINE, 550_000).state == "good"
    assert (
        capacity.judge([FINE, DEAD], DEAD, 550_000).told
        == "the server did not survive 2 prompts of 550000 tokens at once"
    )
    assert "answered with 400: too long" in capacity.judge([Answer(400, "too long", 1.0)], FINE, 9).told
    assert capacity.judge([FINE], Answer(503, "", 20.0), 9).state == "bad"
    assert capacity.judge([LATE], LATE, 9).state == "unknown"


def test_no_two_prompts_of_the_load_begin_alike_and_each_leaves_room_for_its_answer() -> None:
    first, second = (capacity.request(1000, number)["input_ids"] for number in (0, 1))
    assert first[0] != second[0]
    assert len(first) + capacity.request(1000, 0)["sampling_params"]["max_new_tokens"] <= 1000


def test_prompts_of_the_rehearsal_differ_at_once_and_hold_letters_of_the_smallest_vocabulary() -> None:
    prompts = [capacity.request(100, number)["input_ids"] for number in range(400)]
    assert len({tuple(one[:2]) for one in prompts}) == len(prompts)
    assert {low for one in prompts for low in one} <= set(range(100, 250))
