"""Free memory before the load, and the fraction that the engine takes of it."""

import pytest

from dsv4deploy.model.checkpoint import Geometry
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.memory import GIB, MIB, Measured, Sure, exactly
from dsv4deploy.stages.memory.budget import default_fraction, fraction, free_before, multimodal_reserve
from dsv4deploy.stages.memory.launched import read_launch
from tests.unit.stages.memory.cases import CARD, inputs


@pytest.mark.parametrize("seen", [93.30, 93.99, 94.07])
def test_free_memory_of_a_96_gb_card_holds_what_logs_say(seen: float) -> None:
    term = free_before(inputs(tp_size=2))
    assert term is not None
    assert term.amount.low <= seen * GIB <= term.amount.high


def test_memory_used_by_others_is_taken_off() -> None:
    used = CARD.model_copy(update={"gpu_memory_used_mib": (0, 2048)})
    alone, shared = free_before(inputs(tp_size=2)), free_before(inputs(tp_size=2, facts=used))
    assert alone is not None
    assert shared is not None
    assert alone.amount.low - shared.amount.low == 2048 * MIB


def test_a_measurement_replaces_the_estimate_and_an_unknown_card_gives_none() -> None:
    term = free_before(inputs(measured=Measured(free_before=90 * GIB)))
    assert term is not None
    assert (term.amount, term.sure) == (exactly(90 * GIB), Sure.MEASURED)
    assert free_before(inputs(facts=Facts())) is None
    assert fraction(inputs(facts=Facts())) is None


def test_unified_memory_is_far_less_certain() -> None:
    term = free_before(inputs(facts=CARD.model_copy(update={"unified_memory": True})))
    assert term is not None
    assert (term.amount.high - term.amount.low, term.sure) == (10 * GIB, Sure.ASSUMED)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"tp_size": 2}, 0.861),
        ({"tp_size": 4}, 0.859),
        ({"tp_size": 8}, 0.854),
        ({"tp_size": 4, "attn_dp_size": 4}, 0.827),
    ],
)
def test_the_engines_own_choice_on_a_96_gb_card(settings: dict[str, object], expected: float) -> None:
    launch = read_launch("0.5.21", {"cuda_graph_max_bs_decode": 256, **settings}, CARD, Geometry())
    # Under attention data parallelism the chunk of one rank is a part of the whole.
    assert default_fraction(97887, launch) == expected


def test_speculation_lowered_the_choice_until_0_5_13() -> None:
    speculative = {"speculative_algorithm": "EAGLE", "tp_size": 4}
    old, new = (read_launch(version, speculative, CARD, Geometry()) for version in ("0.5.13", "0.5.14"))
    assert round(default_fraction(97887, new) - default_fraction(97887, old), 3) == round(4096 / 97887, 3)


def test_a_given_fraction_is_taken_as_it_is() -> None:
    term = fraction(inputs(mem_fraction_static=0.6))
    assert term is not None
    assert term.amount == exactly(0.6)


@pytest.mark.parametrize(
    ("name", "version", "high"),
    [
        ("Qwen3VLForConditionalGeneration", "0.5.18", 1124 * MIB),
        ("Qwen3VLForConditionalGeneration", "0.5.17", 0),
        ("LlamaForCausalLM", "0.5.18", 0),
    ],
)
def test_multimodal_models_keep_something_back(name: str, version: str, high: int) -> None:
    facts = CARD.model_copy(update={"model": ModelFacts(architectures=(name,))})
    assert multimodal_reserve(inputs(facts=facts, version=version)).high == high
