"""Settings become a typed launch, with the engine's own defaults where nothing is said."""

from collections.abc import Mapping

import pytest

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import Facts
from dsv4deploy.stages.memory.known import V4_FLASH
from dsv4deploy.stages.memory.launched import Launched, read_launch, release_of

CARD = Facts(gpu_memory_mib=97887)


def launch(settings: Mapping[str, object], facts: Facts = CARD, shape: Geometry = V4_FLASH) -> Launched:
    return read_launch("0.5.21", settings, facts, shape)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("0.5.13.post1", (0, 5, 13)),
        ("0.5.21", (0, 5, 21)),
        ("0.5.8-0.5.9", (0, 5, 8)),
        ("main", None),
        (None, None),
        ("", None),
    ],
)
def test_release_of(version: str | None, expected: tuple[int, int, int] | None) -> None:
    assert release_of(version) == expected


@pytest.mark.parametrize(
    ("mib", "tp", "chunk", "batch"),
    [
        (24564, 1, 4096, 48),
        (24564, 4, 4096, 160),
        (46068, 2, 4096, 32),
        (97887, 2, 8192, 256),
        (97887, 4, 8192, 512),
        (183359, 1, 16384, 512),
    ],
)
def test_chunk_and_graphs_follow_the_card(mib: int, tp: int, chunk: int, batch: int) -> None:
    read = launch({"tp_size": tp}, Facts(gpu_memory_mib=mib), Geometry())
    assert (read.chunk, read.decode_batch) == (chunk, batch)


def test_attention_data_parallelism_divides_requests_and_the_default_chunk() -> None:
    asked = {"tp_size": 8, "max_running_requests": 64}
    for settings in ({"attn_dp_size": 4}, {"dp_size": 4, "enable_dp_attention": True}):
        read = launch({**asked, **settings})
        assert (read.attention_dp, read.attention_tp, read.requests, read.chunk) == (4, 2, 16, 2048)
    assert launch({"tp_size": 8, "dp_size": 4}).attention_dp == 1
    # An effective chunk is one rank's already.
    assert launch({"tp_size": 8, "attn_dp_size": 4, "chunked_prefill_size": 2048}).chunk == 2048


def test_deepseek_v4_fills_in_requests_and_page() -> None:
    assert (launch({}).requests, launch({}).page) == (256, 256)
    plain = launch({"page_size": 16}, shape=Geometry(attention="gqa"))
    assert (plain.requests, plain.page) == (None, 16)


@pytest.mark.parametrize(
    ("settings", "tokens"),
    [
        ({}, 1),
        ({"speculative_algorithm": "EAGLE"}, 4),
        ({"speculative_algorithm": "EAGLE", "speculative_num_steps": 3}, 4),
        ({"speculative_algorithm": "DSPARK", "speculative_dspark_block_size": 5}, 6),
        ({"speculative_algorithm": "EAGLE", "speculative_num_steps": 3, "speculative_num_draft_tokens": 2}, 2),
    ],
)
def test_draft_tokens(settings: dict[str, object], tokens: int) -> None:
    assert launch(settings).draft_tokens == tokens


@pytest.mark.parametrize(
    ("settings", "batch"),
    [
        ({"disable_cuda_graph": True}, 0),
        ({"disable_cuda_graph": True, "cuda_graph_backend_decode": "full"}, 256),
        ({"cuda_graph_backend_decode": "disabled"}, 0),
        ({"cuda_graph_max_bs": 32}, 32),
        ({"cuda_graph_max_bs_decode": 8, "cuda_graph_max_bs": 32}, 8),
        ({"max_running_requests": 48}, 48),
    ],
)
def test_largest_decode_graph(settings: dict[str, object], batch: int) -> None:
    assert launch(settings).decode_batch == batch


def test_without_chunks_a_prefill_takes_what_is_let_in() -> None:
    assert launch({"chunked_prefill_size": -1}).chunk == 16384
    assert launch({"chunked_prefill_size": -1, "max_prefill_tokens": 4096}).chunk == 4096


def test_values_of_a_wrong_kind_count_as_not_given() -> None:
    read = launch({"tp_size": "four", "max_running_requests": True, "mem_fraction_static": "0.9"})
    assert (read.tp, read.requests, read.fraction) == (1, 256, None)
