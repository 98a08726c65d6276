"""What the pretended stack makes of settings: graphs, resolved values, numbers that fit together."""

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

Module = Callable[[str, str], ModuleType]
Made = Callable[..., Any]


@pytest.fixture
def stack(module: Module) -> Made:
    def made(version: str, *words: str, world: dict[str, Any] | None = None) -> Any:
        parsed = module(version, "parser").parse(["--model-path", "/models/none", "--tp-size", "4", *words])
        return module(version, "stack").Stack(parsed, world)

    return made


@pytest.mark.parametrize(
    ("words", "decode"),
    [
        ((), True),
        (("--disable-cuda-graph",), False),
        (("--disable-decode-cuda-graph",), False),
        (("--cuda-graph-backend-decode", "disabled"), False),
        (("--disable-cuda-graph", "--cuda-graph-backend-decode", "full"), True),
        (("--cuda-graph-backend-decode", "full", "--cuda-graph-config", '{"decode": {"backend": "disabled"}}'), False),
        (("--device", "cpu"), False),
    ],
)
def test_the_decode_graph_that_takes_effect(words: tuple[str, ...], decode: bool, stack: Made) -> None:
    assert ("decode_graph" in stack("0.5.21", *words).traits) == decode


@pytest.mark.parametrize(
    ("version", "architecture", "words", "prefill"),
    [
        ("0.5.9", "LlamaForCausalLM", (), False),
        ("0.5.10", "LlamaForCausalLM", (), True),
        ("0.5.10", "LlamaForCausalLM", ("--disable-piecewise-cuda-graph",), False),
        ("0.5.21", "LlamaForCausalLM", (), True),
        ("0.5.21", "DeepseekV4ForCausalLM", (), False),
        ("0.5.21", "DeepseekV4ForCausalLM", ("--cuda-graph-backend-prefill", "breakable"), True),
    ],
)
def test_the_prefill_graph_that_takes_effect(
    version: str, architecture: str, words: tuple[str, ...], prefill: bool, stack: Made
) -> None:
    made = stack(version, *words, world={"model": {"architecture": architecture}})
    assert ("prefill_graph" in made.traits) == prefill


@pytest.mark.parametrize(
    ("version", "flag"),
    [
        ("0.5.13.post1", "--cuda-graph-max-bs"),
        ("0.5.17", "--cuda-graph-max-bs"),
        ("0.5.21", "--cuda-graph-max-bs-decode"),
    ],
)
def test_the_batches_follow_the_largest_one(version: str, flag: str, stack: Made) -> None:
    assert stack(version, flag, "32").batches == [1, 2, 4, 8, 16, 24, 32]


def test_deepseek_v4_overrides_what_was_written(stack: Made) -> None:
    settings = stack("0.5.21", "--attention-backend", "triton", "--page-size", "64").settings
    assert (settings["attention_backend"], settings["page_size"], settings["max_running_requests"]) == (
        "dsv4",
        256,
        256,
    )


def test_more_memory_for_the_pool_means_more_tokens_and_nothing_is_lost(stack: Made) -> None:
    small, large = (stack("0.5.21", "--mem-fraction-static", part).numbers for part in ("0.7", "0.9"))
    assert 0 < small["tokens"] < large["tokens"]
    for numbers in (small, large):
        assert numbers["fresh"] - numbers["weights"] - numbers["kv"] == pytest.approx(numbers["pooled"])
        assert numbers["tokens"] % 256 == 0


def test_a_model_folder_speaks_for_itself(stack: Made, tmp_path: Path) -> None:
    config = {"architectures": ["DeepseekV3ForCausalLM"], "max_position_embeddings": 4096, "n_routed_experts": 16}
    (tmp_path / "config.json").write_text(json.dumps(config))
    (tmp_path / "model.safetensors").write_bytes(bytes(2**20))
    made = stack("0.5.21", "--model-path", str(tmp_path))
    assert "dsv3" in made.traits
    assert "no_model_folder" not in made.traits
    assert (made.numbers["context"], made.model["n_routed_experts"], made.numbers["shards"]) == (4096, 16, 1)
    assert made.numbers["weights"] == pytest.approx(1 / 1024 / 4)


@pytest.mark.parametrize(
    ("words", "ranks", "prefixes"),
    [
        ((), 4, [" TP0", " TP1", " TP2", " TP3"]),
        (("--ep-size", "4"), 4, [" TP0 EP0", " TP1 EP1", " TP2 EP2", " TP3 EP3"]),
        (("--tp-size", "1"), 1, [""]),
        (("--nnodes", "2", "--node-rank", "1"), 2, [" TP2", " TP3"]),
    ],
)
def test_ranks_carry_the_prefix_of_the_engine(
    words: tuple[str, ...], ranks: int, prefixes: list[str], stack: Made
) -> None:
    made = stack("0.5.21", *words)
    assert made.ranks == ranks
    assert [made.prefix(rank) for rank in range(ranks)] == prefixes
