"""What was asked for must be in effect, whatever the engine writes it like."""

from typing import Any

import pytest

from dsv4deploy.node.checks.server_info import judge, silently


@pytest.mark.parametrize(
    ("argv", "info"),
    [
        (["--tp-size", "4"], {"tp_size": 4}),
        (["--mem-fraction-static", "0.60"], {"mem_fraction_static": 0.6}),
        (["--trust-remote-code"], {"trust_remote_code": True}),
        (["--port=30000"], {"port": 30000}),
        (["--cuda-graph-bs", "1", "2", "4"], {"cuda_graph_bs": [1, 2, 4]}),
        (["--json-model-override-args", '{"a": 1}'], {"json_model_override_args": '{"a":1}'}),
        (["--max-prefill-tokens", "-1"], {"max_prefill_tokens": -1}),
        (["--api-key", "x"], {"api_key": "<redacted>"}),
        (["--unknown-here", "1"], {}),
    ],
)  # fmt: skip
def test_what_is_in_effect(argv: list[str], info: dict[str, Any]) -> None:
    assert judge(info, argv).state == "good"


@pytest.mark.parametrize(
    ("argv", "info", "words"),
    [
        (["--page-size", "64"], {"page_size": 256}, "page_size is 256, asked for: 64"),
        (["--disable-cuda-graph"], {"disable_cuda_graph": False}, "disable_cuda_graph is false, asked for: on"),
        (["--attention-backend", "triton"], {"attention_backend": "dsv4"}, 'attention_backend is "dsv4"'),
        (["--moe-runner-backend", "triton"], {"moe_runner_backend": None}, "moe_runner_backend is null"),
    ],
)
def test_what_was_asked_for_and_not_got_is_a_failure(argv: list[str], info: dict[str, Any], words: str) -> None:
    found = judge(info, argv)
    assert found.state == "bad"
    assert words in found.told


def test_an_answer_that_is_no_object() -> None:
    assert judge([], ["--tp-size", "4"]).state == "unknown"


def test_every_setting_that_the_engine_changed_by_itself_is_named() -> None:
    defaults = {"page_size": 1, "tp_size": 1, "host": "127.0.0.1", "lists": (), "api_key": None}
    info = {"page_size": 256, "tp_size": 4, "host": "127.0.0.1", "lists": [], "api_key": "x"}
    assert silently(info, ["--tp-size", "4"], defaults) == ["page_size became 256 (default: 1)"]
