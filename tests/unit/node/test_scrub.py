"""Secrets go, and what only looks like one stays."""

import pytest

from dsv4deploy.node.scrub import HIDDEN, masked, scrubbed, scrubbed_tree, secret_name, secrets_of


@pytest.mark.parametrize(
    "text",
    [
        "--api-key canary1234",
        "--api-key=canary1234",
        "--admin-api-key 'canary 1234'",
        "api_key='canary1234',",
        '{"api_key": "canary1234"}',
        "HF_TOKEN=canary1234",
        "AWS_SECRET_ACCESS_KEY: canary1234",
        "export WANDB_API_KEY=canary1234;",
        "DB_PASSWORD=canary1234",
        "Authorization: Bearer canary1234",
        "curl -H 'authorization: bearer canary1234'",
        "https://anna:canary1234@example.org/x",
        "hf_canary1234canary1234",
        "sk-canary1234canary1234",
        "eyJcanary1234.canary1234.canary",
        "-----BEGIN PRIVATE KEY-----\ncanary1234\n-----END PRIVATE KEY-----",
    ],
)
def test_a_secret_goes(text: str) -> None:
    told = scrubbed(text)
    assert "canary" not in told
    assert HIDDEN in told


@pytest.mark.parametrize(
    "text",
    [
        "max_total_num_tokens=1987654, chunked_prefill_size=8192",
        "tokenizer_path='/models/flash', tokenizer_mode='auto'",
        "prompt_tokens: 12, completion_tokens: 8",
        "api_key=None, admin_api_key=None",
        "#token: 0, token usage: 0.00, cuda graph: True",
        "#new-token: 512, #cached-token: 0, full token: 12, swa token usage: 0.01",
        "Capture cuda graph failed: CUDA error: dependency created on uncaptured work in another stream",
        "the token is wrong",
        "https://docs.nvidia.com/cuda/cuda-runtime-api/group__CUDART__TYPES.html",
    ],
)
def test_what_is_none_stays(text: str) -> None:
    assert scrubbed(text) == text


def test_a_known_value_goes_wherever_it_stands() -> None:
    known = secrets_of(["--port", "1", "--api-key", "swordfish"], {"MY_TOKEN": "open-sesame", "NCCL_ALGO": "Ring"})
    assert known == ["open-sesame", "swordfish"]
    assert scrubbed("swordfish and open-sesame, Ring", known) == f"{HIDDEN} and {HIDDEN}, Ring"


def test_a_document_is_scrubbed_by_its_keys_and_its_texts() -> None:
    tree = {"api_key": "abc", "max_tokens": 5, "nested": [{"password": "x", "words": ["--api-key xyz1", "ok"]}]}
    assert scrubbed_tree(tree) == {
        "api_key": HIDDEN,
        "max_tokens": 5,
        "nested": [{"password": HIDDEN, "words": [f"--api-key {HIDDEN}", "ok"]}],
    }


@pytest.mark.parametrize(
    "name",
    [
        "api_key_file",
        "tool_call_parser",
        "tokenizer_path",
        "num_tokens",
        "author",
        "eos_token_id",
        "speculative_token_map",
        "experts_per_token",
    ],
)
def test_a_name_of_something_else_is_no_secret(name: str) -> None:
    assert not secret_name(name)


def test_a_masked_text_keeps_every_other_column() -> None:
    text = "docker run -e HF_TOKEN='hf_0123456789abcdef' img --api-key sk-0123456789abcdef --port 8000"
    told = masked(text)
    assert told == "docker run -e HF_TOKEN='*******************' img --api-key ******************* --port 8000"
    assert len(told) == len(text)
