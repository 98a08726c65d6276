"""What has to fit beside the pool."""

import pytest

from dsv4deploy.model.checkpoint import Geometry, TensorClass
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.memory import GIB, Interval, Measured, Part, exactly
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.known import GLM_5, V4_FLASH
from dsv4deploy.stages.memory.slack import load_peak, outside
from tests.unit.stages.memory.cases import CARD, inputs, share


def taken(name: str, given: Inputs, room: float = 1000) -> Interval:
    """GiB of one taker; nothing if it does not occur."""
    found = [term for term in outside(given, exactly(room * GIB)) if term.name == name]
    assert all(term.part is Part.SLACK for term in found)
    return (exactly(0) - found[0].amount).scaled(1 / GIB) if found else exactly(0)


@pytest.mark.parametrize(
    ("requests", "context", "expected"), [(48, 786432, 0.14), (256, 1 << 20, 1.0), (4, 1 << 20, 0.02)]
)
def test_request_table(requests: int, context: int, expected: float) -> None:
    given = inputs(shape=V4_FLASH, max_running_requests=requests, context_length=context)
    assert taken("request table", given).likely == pytest.approx(expected, abs=0.01)


def test_requests_that_the_engine_works_out_are_thousands() -> None:
    table = taken("request table", inputs(shape=Geometry(attention="gqa", max_positions=1 << 20)))
    assert (table.low, table.high) == (8, 16)


@pytest.mark.parametrize(("captured", "logged"), [(24, 0.6), (320, 1.9)])
def test_graphs_hold_what_logs_say(captured: int, logged: float) -> None:
    graphs = taken("graphs", inputs(shape=V4_FLASH, cuda_graph_max_bs_decode=captured))
    assert graphs.low <= logged <= graphs.high * 1.01


def test_graphs_that_are_off_or_measured_are_certain() -> None:
    assert taken("graphs", inputs(shape=V4_FLASH, disable_cuda_graph=True)) == exactly(0)
    assert taken("graphs", inputs(shape=V4_FLASH, measured=Measured(graphs=2 * GIB))) == exactly(2)


def test_prefill_graphs_come_on_top_where_they_may_be_on() -> None:
    shape = Geometry(attention="gqa")
    on, off = inputs(shape=shape), inputs(shape=shape, cuda_graph_backend_prefill="disabled")
    assert taken("graphs", on).high - taken("graphs", off).high == pytest.approx(3)


@pytest.mark.parametrize(
    ("chunk", "prompt", "expected"),
    [(8192, 131072, 1.0), (8192, 550000, 4.2), (8192, 1 << 20, 8.0), (2048, 1 << 20, 2.0)],
)
def test_scores_of_the_indexer_grow_with_chunk_and_prompt(chunk: int, prompt: int, expected: float) -> None:
    given = inputs(shape=V4_FLASH, prompt=prompt, chunked_prefill_size=chunk)
    assert taken("indexer scores", given).likely == pytest.approx(expected, abs=0.05)


@pytest.mark.parametrize(
    ("arch", "version", "patched", "low", "high"),
    [
        ("sm_120", "0.5.22", None, 8, 8),
        ("sm_90", "0.5.22", None, 1, 1),
        ("sm_90", "0.5.21", None, 8, 8),
        ("sm_120", "0.5.16", True, 1, 8),
        (None, "0.5.22", None, 1, 8),
    ],
)
def test_scores_are_bounded_only_where_the_engine_splits_rows(
    arch: str | None, version: str, patched: bool | None, low: float, high: float
) -> None:
    facts = Facts(arch=arch, gpu_memory_mib=97887, engine_patched=patched)
    scores = taken("indexer scores", inputs(shape=V4_FLASH, facts=facts, version=version, prompt=1 << 20), room=5)
    assert (scores.low, scores.high) == (low, high)


def test_scores_of_dsa_are_four_times_those_of_v4_and_bounded_since_0_5_13() -> None:
    old = inputs(shape=GLM_5, version="0.5.12", prompt=131072)
    assert taken("indexer scores", old, room=5).likely == 4
    assert taken("indexer scores", inputs(shape=GLM_5, version="0.5.13", prompt=131072), room=5).likely == 1


def test_without_an_indexer_there_are_no_scores() -> None:
    assert taken("indexer scores", inputs(shape=Geometry(attention="gqa"), prompt=100000)) == exactly(0)


def test_activations_of_deepseek_v4_are_about_a_gib() -> None:
    activations = taken("activations", inputs(shape=V4_FLASH, tp_size=2))
    assert 0.5 < activations.low < 0.7 < activations.high < 1.4


def test_the_load_holds_a_layer_twice_and_scales_of_nvfp4() -> None:
    shape = Geometry(layers=10)
    plain = load_peak(inputs(share(TensorClass.EXPERTS, 90), shape=shape, tp_size=2))
    assert plain is not None
    assert plain.amount == exactly(4.5 * GIB)
    nvfp4 = CARD.model_copy(update={"model": ModelFacts(experts_dtype="nvfp4")})
    scaled = load_peak(inputs(share(TensorClass.EXPERTS, 90), shape=shape, facts=nvfp4, tp_size=2))
    assert scaled is not None
    assert scaled.amount.high == (4.5 + 5) * GIB
    assert load_peak(inputs(shape=shape)) is None
