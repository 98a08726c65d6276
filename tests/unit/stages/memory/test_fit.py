"""The whole account: what fits, what does not, what is unknown, and how a measurement narrows it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.model.checkpoint import Checkpoint, Geometry, TensorClass
from dsv4deploy.model.diagnostic import Level
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.memory import GIB, Account, Measured, Part, Workload
from dsv4deploy.stages.memory import fit
from tests.unit.stages.memory.cases import CARD, FLASH, NODE, share

BASE = {"tp_size": 2, "mem_fraction_static": 0.93, "max_running_requests": 48, "chunked_prefill_size": 8192}
DSPARK = {**BASE, "speculative_algorithm": "DSPARK", "speculative_dspark_block_size": 5, "cuda_graph_max_bs_decode": 32}


def told(account: Account) -> dict[str, Level]:
    return {diagnostic.rule: diagnostic.level for diagnostic in account.diagnostics}


def sized(gib: float, **card: object) -> Facts:
    facts = {**CARD.model_dump(exclude={"model"}), **card}
    return Facts.model_validate({**facts, "model": {"weight_bytes": int(gib * GIB), "quant_method": "fp8"}})


def test_what_certainly_does_not_fit_is_an_error_that_names_the_numbers() -> None:
    account = fit("0.5.14", {"tp_size": 8, "mem_fraction_static": 0.9}, sized(752))
    (error,) = account.diagnostics
    assert (error.rule, error.level) == ("weights-do-not-fit", Level.ERROR)
    assert error.names == ("--mem-fraction-static", "--tp-size", "fact:gpu_memory_mib", "fact:model.weight_bytes")
    assert "GiB of weights on each of 8 ranks" in error.message
    assert error.remedy.startswith("--tp-size 16")
    assert error.evidence[0].startswith("enforced")


def test_what_may_not_fit_is_a_warning_and_says_which_fraction_is_likely_to_do() -> None:
    account = fit("0.5.21", {"tp_size": 8, "mem_fraction_static": 0.6}, sized(8 * 54))
    assert told(account)["memory-may-not-fit"] is Level.WARNING
    assert account.tokens is None
    assert "--mem-fraction-static above 0.68" in account.diagnostics[0].remedy


def test_what_fits_is_one_note() -> None:
    account = fit("0.5.21", {**BASE, "tp_size": 4}, NODE)
    assert told(account) == {"memory": Level.NOTE}
    assert account.tokens is not None
    assert account.tokens.low > 1_000_000


def test_weights_that_were_never_read_may_warn_but_never_refuse() -> None:
    account = fit("0.5.21", {**BASE, "tp_size": 1}, NODE)
    assert told(account) == {"weights-do-not-fit": Level.WARNING}


@pytest.mark.parametrize(("fraction", "warned"), [(0.93, False), (0.95, True)])
def test_a_long_prompt_that_kills_a_rank_after_a_good_start(fraction: float, warned: bool) -> None:
    account = fit("0.5.16", {**DSPARK, "mem_fraction_static": fraction}, NODE, workload=Workload(550_000, 1))
    assert ("memory-no-headroom" in told(account)) is warned


def test_a_context_that_nobody_says_to_use_is_no_reason_to_warn() -> None:
    account = fit("0.5.16", {**DSPARK, "mem_fraction_static": 0.95, "context_length": 786432}, NODE)
    assert told(account) == {"memory": Level.NOTE}
    assert "prompts up to" in account.diagnostics[0].message


def test_users_with_their_longest_prompts_must_fit_the_pool() -> None:
    settings = {**BASE, "tp_size": 4}
    few, many = (fit("0.5.21", settings, NODE, workload=Workload(500_000, users)) for users in (4, 40))
    assert "memory-workload-exceeds-pool" not in told(few)
    assert told(many)["memory-workload-exceeds-pool"] is Level.WARNING


def test_every_attention_replica_has_a_pool_of_its_own() -> None:
    settings = {**BASE, "tp_size": 4, "attn_dp_size": 4}
    account = fit("0.5.21", settings, NODE, workload=Workload(500_000, 20))
    assert "memory-workload-exceeds-pool" not in told(account)


def test_a_load_whose_peak_finds_no_room_is_a_warning() -> None:
    checkpoint = Checkpoint(geometry=Geometry(attention="gqa", layers=2), weights=(share(TensorClass.EXPERTS, 80),))
    account = fit("0.5.21", {"mem_fraction_static": 0.95}, CARD, checkpoint)
    assert told(account)["memory-load-peak"] is Level.WARNING


@pytest.mark.parametrize(
    ("version", "facts", "needs"),
    [
        ("0.5.21", Facts(model=FLASH), {"gpu_memory_mib", "the model folder (weight bytes by class)"}),
        (None, NODE, {"engine_version", "the model folder (weight bytes by class)"}),
        ("0.5.21", CARD, {"the model folder (weight bytes by class)"}),
    ],
)
def test_what_is_missing_is_named(version: str | None, facts: Facts, needs: set[str]) -> None:
    assert set(fit(version, BASE, facts).needs) == needs


def test_a_shape_that_says_too_little_leaves_the_tokens_unknown() -> None:
    checkpoint = Checkpoint(geometry=Geometry(attention="gqa"), weights=(share(TensorClass.EXPERTS, 8),))
    account = fit("0.5.21", BASE, CARD, checkpoint)
    assert account.tokens is None
    assert "the model folder (layers of its config.json)" in account.needs


def test_a_first_start_narrows_the_answer_to_its_own_numbers() -> None:
    guessed = fit("0.5.16", BASE, NODE)
    measured = Measured(free_before=93.99 * GIB, weights=74.9 * GIB, bytes_per_token=7800)
    known = fit("0.5.16", BASE, NODE, measured=measured)
    assert guessed.tokens is not None
    assert known.tokens is not None
    assert known.tokens.low == known.tokens.high
    assert known.tokens.likely == int((93.99 * 0.93 - 74.9) * GIB / 7800) // 256 * 256
    assert known.needs == ()


def test_offloaded_weights_are_not_judged() -> None:
    account = fit("0.5.21", {"mem_fraction_static": 0.9, "cpu_offload_gb": 100}, sized(300))
    assert Level.ERROR not in told(account).values()
    assert any("cpu-offload-gb" in what for what in account.not_modelled)


def test_draft_weights_came_out_of_the_rest_before_0_5_14() -> None:
    def pool(version: str) -> float:
        terms = fit(version, DSPARK, NODE, measured=Measured(draft=4 * GIB)).terms
        return next(term.amount.likely for term in terms if term.name == "pool")

    assert pool("0.5.13") - pool("0.5.14") == 4 * GIB


def test_max_total_tokens_lowers_and_never_raises() -> None:
    settings = {**BASE, "tp_size": 4}
    lowered, raised = (fit("0.5.21", {**settings, "max_total_tokens": most}, NODE) for most in (4096, 10**9))
    assert lowered.tokens is not None
    assert lowered.tokens.high == 4096
    assert raised.tokens == fit("0.5.21", settings, NODE).tokens


SETTINGS = st.fixed_dictionaries(
    {},
    optional={
        "tp_size": st.sampled_from([1, 2, 4, 8]),
        "pp_size": st.sampled_from([1, 2]),
        "attn_dp_size": st.sampled_from([1, 2, 4]),
        "mem_fraction_static": st.floats(0.1, 0.99),
        "max_running_requests": st.integers(1, 5000),
        "chunked_prefill_size": st.sampled_from([-1, 2048, 8192]),
        "context_length": st.integers(1, 1 << 21),
        "kv_cache_dtype": st.sampled_from(["auto", "fp8_e4m3", "bfloat16", "nvfp4"]),
        "speculative_algorithm": st.sampled_from(["EAGLE", "NGRAM", None]),
        "moe_runner_backend": st.sampled_from(["auto", "marlin"]),
        "cpu_offload_gb": st.sampled_from([0, 10]),
    },
)
MODELS = st.sampled_from(
    [
        FLASH,
        ModelFacts(model_type="deepseek_v3", moe_intermediate_size=2048, quant_method="fp8"),
        ModelFacts(model_type="glm_moe_dsa", moe_intermediate_size=2048, quant_method="modelopt_fp4"),
        ModelFacts(weight_bytes=100 * GIB),
    ]
)


@given(st.sampled_from([None, "0.5.12", "0.5.16", "0.5.22"]), SETTINGS, MODELS, st.integers(1, 200_000))
def test_whatever_the_launch_every_term_is_in_order_and_the_sums_hold(
    version: str | None, settings: dict[str, object], model: ModelFacts, card: int
) -> None:
    account = fit(version, settings, Facts(gpu_memory_mib=card, model=model))
    for term in account.terms:
        assert term.amount.low <= term.amount.likely <= term.amount.high, term
        assert term.source
    assert all(len(diagnostic.names) <= 4 for diagnostic in account.diagnostics)
    taken = [term.amount for term in account.terms if term.part is Part.SLACK and term.name != "left over"]
    if account.slack is not None:
        assert sum(amount.likely for amount in taken) == pytest.approx(account.slack.likely, abs=1024)


@given(SETTINGS, st.floats(0.1, 0.9), st.floats(0.0, 0.09))
def test_a_larger_fraction_never_holds_fewer_tokens(settings: dict[str, object], fraction: float, more: float) -> None:
    smaller, larger = (
        fit("0.5.21", {**settings, "mem_fraction_static": size}, NODE).tokens for size in (fraction, fraction + more)
    )
    assert smaller is not None
    assert larger is not None
    assert smaller.low <= larger.low
    assert smaller.high <= larger.high
