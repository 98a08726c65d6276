"""Weights on a rank: divided by class, grown at load, from headers, a total or the shape."""

import pytest

from dsv4deploy.model.checkpoint import Geometry, TensorClass
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.memory import GIB, Interval, Measured, Sure, total
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.known import V3, V4_FLASH
from dsv4deploy.stages.memory.weights import draft_weights, weights
from tests.unit.stages.memory.cases import CARD, NODE, inputs, share

V4 = Geometry(attention="compressed", layers=4, kv_heads=1)
GQA = Geometry(attention="gqa", layers=4, kv_heads=2)


def on_rank(given: Inputs) -> Interval:
    return total(term.amount for term in weights(given)).scaled(1 / GIB)


@pytest.mark.parametrize(
    ("tensor_class", "settings", "expected"),
    [
        (TensorClass.EXPERTS, {"tp_size": 8, "attn_dp_size": 8, "ep_size": 8}, 1),
        (TensorClass.EXPERTS, {"tp_size": 8}, 1),
        (TensorClass.SHARED_EXPERTS, {"tp_size": 8}, 1),
        (TensorClass.ATTENTION, {"tp_size": 8}, 1),
        (TensorClass.ATTENTION, {"tp_size": 8, "attn_dp_size": 8}, 8),
        (TensorClass.ATTENTION, {"tp_size": 8, "attn_dp_size": 2}, 2),
        (TensorClass.ATTENTION_KV, {"tp_size": 8}, 4),
        (TensorClass.ATTENTION_LATENT, {"tp_size": 8}, 8),
        (TensorClass.INDEXER, {"tp_size": 8}, 8),
        (TensorClass.ROUTER, {"tp_size": 8}, 8),
        (TensorClass.EMBEDDING, {"tp_size": 8}, 1),
        (TensorClass.EMBEDDING, {"tp_size": 8, "attn_dp_size": 8}, 8),
        (TensorClass.LM_HEAD, {"tp_size": 8, "attn_dp_size": 8, "enable_dp_lm_head": True}, 8),
        (TensorClass.MLP, {"tp_size": 8}, 1),
        (TensorClass.MLP, {"tp_size": 8, "moe_dense_tp_size": 1}, 8),
        (TensorClass.OTHER, {"tp_size": 8}, 8),
        (TensorClass.EXPERTS, {"tp_size": 4, "pp_size": 2}, 1),
        (TensorClass.EMBEDDING, {"tp_size": 4, "pp_size": 2}, 2),
    ],
)
def test_how_a_class_is_divided(tensor_class: TensorClass, settings: dict[str, object], expected: float) -> None:
    assert on_rank(inputs(share(tensor_class, 8), shape=GQA, settings=settings)).likely == pytest.approx(expected)


def test_what_depends_on_an_unknown_is_an_interval() -> None:
    head = on_rank(inputs(share(TensorClass.LM_HEAD, 8), shape=GQA, tp_size=8, attn_dp_size=8))
    assert (head.low < 1.01, head.high > 7.99) == (True, True)
    engram = on_rank(inputs(share(TensorClass.ENGRAM, 8), shape=V4, tp_size=8))
    assert engram.low == 0


@pytest.mark.parametrize(
    ("tensor_class", "dtype", "arch", "expected"),
    [
        (TensorClass.OUTPUT_A, "F8_E4M3", "sm_120", 2),
        (TensorClass.OUTPUT_A, "F8_E4M3", "gfx950", 2),
        (TensorClass.OUTPUT_A, "F8_E4M3", "sm_90", 1.5),
        (TensorClass.OUTPUT_A, "BF16", "sm_120", 1),
        (TensorClass.INDEXER, "F8_E4M3", "sm_120", 2),
        (TensorClass.INDEXER, "BF16", "sm_120", 1),
        (TensorClass.KV_B, "F8_E4M3", "sm_120", 3),
        (TensorClass.KV_B, "BF16", "sm_120", 2),
    ],
)
def test_what_grows_at_load(tensor_class: TensorClass, dtype: str, arch: str, expected: float) -> None:
    given = inputs(share(tensor_class, 1, dtype), shape=V4, facts=Facts(arch=arch))
    assert on_rank(given).likely == pytest.approx(expected)


def test_rope_tables_of_deepseek_v4_take_half_a_gib() -> None:
    terms = weights(inputs(share(TensorClass.EXPERTS, 8), shape=V4_FLASH))
    assert [term.amount.likely / GIB for term in terms if term.name.endswith("rope tables")] == [0.5]


def test_scaled_positions_make_the_rope_tables_larger() -> None:
    stretched = V4_FLASH.model_copy(update={"max_positions": 65536, "rope_positions": 1 << 20})
    terms = weights(inputs(share(TensorClass.EXPERTS, 8), shape=stretched))
    assert terms[-1].amount.likely / GIB == 0.5


def test_the_draft_counts_only_with_speculation() -> None:
    shares = share(TensorClass.EXPERTS, 8), share(TensorClass.EXPERTS, 2, draft=True)
    assert on_rank(inputs(*shares, shape=GQA, tp_size=2)).likely == 4
    assert draft_weights(inputs(*shares, shape=GQA, tp_size=2)) is None
    draft = draft_weights(inputs(*shares, shape=GQA, tp_size=2, speculative_algorithm="EAGLE"))
    assert draft is not None
    assert (draft.amount.likely / GIB, draft.sure) == (1, Sure.INFERRED)
    elsewhere = draft_weights(inputs(*shares, speculative_algorithm="EAGLE", speculative_draft_model_path="/draft"))
    assert elsewhere is not None
    assert elsewhere.sure is Sure.ASSUMED
    assert draft_weights(inputs(*shares, speculative_algorithm="NGRAM")) is None


def test_a_total_is_divided_over_all_ranks_with_a_part_that_is_not() -> None:
    facts = CARD.model_copy(update={"model": ModelFacts(weight_bytes=800 * GIB)})
    held = on_rank(inputs(facts=facts, tp_size=8))
    assert held.low < 100 < held.likely < held.high
    assert on_rank(inputs(facts=facts, tp_size=8, quantization="fp8")).low < 30
    with_mtp = on_rank(inputs(facts=facts, tp_size=8))
    all_loaded = on_rank(inputs(facts=facts, tp_size=8, speculative_algorithm="EAGLE"))
    assert with_mtp.low < all_loaded.low


def test_stages_of_a_pipeline_hold_no_copies_of_one_another() -> None:
    facts = CARD.model_copy(update={"model": ModelFacts(weight_bytes=800 * GIB, num_hidden_layers=61)})
    stages = on_rank(inputs(facts=facts, tp_size=8, pp_size=2))
    one = on_rank(inputs(facts=facts, tp_size=8))
    expected = [one.low / 2, one.likely / 2, one.high / 2 * 62 / 61]
    assert [stages.low, stages.likely, stages.high] == pytest.approx(expected), "one of two stages has 31 of 61 layers"


def test_a_published_shape_tells_what_attention_groups_copy() -> None:
    """32 ranks with an attention group each: 11 GB of attention and 4 GB of ends a rank, not a multiple of all."""
    model = ModelFacts(model_type="deepseek_v3", moe_intermediate_size=2048, quant_method="fp8", weight_bytes=641 * GIB)
    facts = CARD.model_copy(update={"model": model})
    amount = on_rank(inputs(facts=facts, shape=V3, tp_size=32, attn_dp_size=32))
    assert [amount.likely, amount.high] == pytest.approx([34, 51], abs=1)


def test_a_total_may_grow_under_marlin_too() -> None:
    facts = CARD.model_copy(update={"arch": "sm_90", "model": ModelFacts(weight_bytes=800 * GIB)})
    plain, grown = (on_rank(inputs(facts=facts, tp_size=8, moe_runner_backend=name)) for name in ("triton", "marlin"))
    assert [grown.low, grown.high] == pytest.approx([plain.low, plain.high * 1.22 / 1.05])


def test_engram_tables_of_deepseek_v41_may_stay_elsewhere() -> None:
    whole = CARD.model_copy(update={"model": ModelFacts(model_type="deepseek_v41", weight_bytes=510_300_000_000)})
    held = on_rank(inputs(facts=whole, tp_size=4))
    # Public: about 77 GiB a rank at tp 4 without them.
    assert held.low < 77 < held.high


def test_the_shape_alone_is_an_assumption_and_a_measurement_is_none() -> None:
    by_shape = weights(inputs(shape=V4_FLASH, facts=NODE, tp_size=2))
    assert total(term.amount for term in by_shape).likely / GIB == pytest.approx(74.6, abs=0.3)
    assert by_shape[0].sure is Sure.ASSUMED
    (measured,) = weights(inputs(shape=V4_FLASH, facts=NODE, measured=Measured(weights=5)))
    assert (measured.amount.likely, measured.sure) == (5, Sure.MEASURED)


def test_nothing_known_gives_no_term() -> None:
    assert weights(inputs()) == ()
    unknown_format = CARD.model_copy(update={"model": ModelFacts(model_type="deepseek_v4", moe_intermediate_size=2048)})
    assert weights(inputs(shape=V4_FLASH, facts=unknown_format)) == ()


def test_marlin_may_hold_far_more_than_the_file() -> None:
    plain = on_rank(inputs(share(TensorClass.EXPERTS, 8), shape=GQA))
    marlin = on_rank(inputs(share(TensorClass.EXPERTS, 8), shape=GQA, moe_runner_backend="marlin"))
    assert marlin.high > plain.high * 1.1
