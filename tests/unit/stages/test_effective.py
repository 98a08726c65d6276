"""What takes effect of what was written, release by release."""

from collections.abc import Mapping
from typing import Any

import pytest

from dsv4deploy.model.effective import Basis, Effective
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Launch, Setting, Variable
from dsv4deploy.stages.effective import effective

DSV4 = {"model_type": "deepseek_v4"}
MXFP4 = {**DSV4, "quant_method": "fp8", "experts_dtype": "mxfp4"}
HYBRID = {**DSV4, "quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"}


def settled(
    version: str | None = None, *, env: Mapping[str, str] | None = None, facts: Any = None, **written: Any
) -> Effective:
    settings = {dest: Setting(dest, value, f"--{dest}") for dest, value in written.items()}
    variables = {name: Variable(name, value) for name, value in (env or {}).items()}
    return effective(Launch(version, settings, variables), None, Facts.model_validate(facts or {}))


def value(dest: str, version: str | None = None, **given: Any) -> Any:
    outcome = settled(version, **given).settings[dest]
    return f"unknown: {', '.join(outcome.needs)}" if outcome.needs else outcome.value


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ({}, "full"),
        ({"disable_cuda_graph": True}, "disabled"),
        ({"disable_decode_cuda_graph": True}, "disabled"),
        ({"disable_cuda_graph": True, "cuda_graph_backend_decode": "full"}, "full"),
        ({"disable_cuda_graph": True, "cuda_graph_config": {"decode": {"backend": "full"}}}, "full"),
        ({"cuda_graph_backend_decode": "disabled", "cuda_graph_config": {"decode": {"backend": "full"}}}, "full"),
        ({"disaggregation_mode": "prefill"}, "disabled"),
        ({"deepep_mode": "normal"}, "disabled"),
    ],
)
def test_decode_graphs_follow_what_ranks_highest(written: dict[str, Any], expected: str) -> None:
    assert value("cuda_graph_backend_decode", "0.5.23", **written) == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.5.9", "disabled"), ("0.5.12", "tc_piecewise"), ("0.5.14", "tc_piecewise"), ("0.5.20", "breakable")],
)
def test_the_prefill_graph_has_another_default_in_every_era(version: str, expected: str) -> None:
    llama = {"model": {"model_type": "llama"}}
    assert value("cuda_graph_backend_prefill", version, facts=llama) == expected


def test_a_prefill_graph_is_off_for_deepseek_v4_unless_it_is_named() -> None:
    assert value("cuda_graph_backend_prefill", "0.5.20", facts={"model": DSV4}) == "disabled"
    named = value("cuda_graph_backend_prefill", "0.5.20", facts={"model": DSV4}, cuda_graph_backend_prefill="full")
    assert named == "full"


@pytest.mark.parametrize(("version", "expected"), [("0.5.18", "breakable"), ("0.5.19", "disabled")])
def test_under_pipeline_parallelism_a_prefill_graph_must_be_named_since_0_5_19(version: str, expected: str) -> None:
    llama = {"model": {"model_type": "llama"}}
    assert value("cuda_graph_backend_prefill", version, facts=llama, pp_size=2) == expected
    named = value("cuda_graph_backend_prefill", version, facts=llama, pp_size=2, cuda_graph_backend_prefill="breakable")
    assert named == "breakable"


def test_torch_compile_is_on_only_inside_decode_graphs() -> None:
    assert value("enable_torch_compile", enable_torch_compile=True) is True
    assert value("enable_torch_compile", enable_torch_compile=True, disable_cuda_graph=True) is False
    assert value("enable_torch_compile") is None


def test_the_mode_of_torch_compile_is_the_engines_unless_it_is_set() -> None:
    mode = "SGLANG_TORCH_COMPILE_MODE"
    assert settled().environment[mode].value == "max-autotune-no-cudagraphs"
    assert settled(env={mode: "default"}).environment[mode].value == "default"


def test_a_list_of_batch_sizes_wins_over_a_maximum() -> None:
    assert value("cuda_graph_max_bs_decode", cuda_graph_bs_decode=(1, 2, 4), cuda_graph_max_bs_decode=2) == 4


@pytest.mark.parametrize(("tp", "expected"), [(2, 256), (4, 512)])
def test_the_largest_decode_graph_is_chosen_by_memory_and_tensor_parallel_size(tp: int, expected: int) -> None:
    assert value("cuda_graph_max_bs_decode", "0.5.17", tp_size=tp, facts={"gpu_memory_mib": 97887}) == expected


@pytest.mark.parametrize(
    ("version", "model", "expected"),
    [
        ("0.5.23", HYBRID, "flashinfer_trtllm_routed"),
        ("0.5.23", MXFP4, "flashinfer_mxfp4"),
        ("0.5.14", MXFP4, "marlin"),
        ("0.5.23", {"model_type": "glm4_moe", "quant_method": "modelopt_fp4"}, "unknown: model.n_routed_experts"),
        ("0.5.9", {"model_type": "glm4_moe", "quant_method": "modelopt_fp4"}, "cutlass"),
        (None, MXFP4, "unknown: engine_version"),
        ("0.5.23", DSV4, "unknown: model.quant_method"),
        ("0.5.23", {**DSV4, "quant_method": "fp8"}, "unknown: model.experts_dtype"),
        ("0.5.23", {**DSV4, "quant_method": "fp8", "experts_dtype": "fp8"}, "auto"),
    ],
)
def test_auto_becomes_another_moe_runner_by_weights_and_release(version: str | None, model: Any, expected: str) -> None:
    assert value("moe_runner_backend", version, facts={"arch": "sm_120", "model": model}) == expected


@pytest.mark.parametrize(
    ("experts", "written", "expected"),
    [(160, "modelopt_fp4", "flashinfer_cutlass"), (160, None, "flashinfer_trtllm"), (0, None, "auto")],
)
def test_nvfp4_experts_get_their_sm120_runner_by_the_flag_alone(
    experts: int, written: str | None, expected: str
) -> None:
    model = {"model_type": "glm4_moe", "quant_method": "modelopt_fp4", "n_routed_experts": experts}
    facts = {"arch": "sm_120", "model": model}
    assert value("moe_runner_backend", "0.5.23", facts=facts, quantization=written) == expected


def test_what_is_written_for_the_moe_runner_stays() -> None:
    assert value("moe_runner_backend", moe_runner_backend="triton") == "triton"


@pytest.mark.parametrize(
    ("arch", "model", "expected"),
    [
        ("sm_120", "deepseek_v4", "dsv4"),
        ("sm_120", "glm_moe_dsa", "dsa"),
        ("sm_120", "kimi_k25", "triton"),
        ("sm_120", "qwen3", "flashinfer"),
        ("sm_100", "qwen3", "trtllm_mha"),
        ("sm_90", "qwen3", "fa3"),
    ],
)
def test_attention_is_chosen_by_model_and_card(arch: str, model: str, expected: str) -> None:
    facts = {"arch": arch, "model": {"model_type": model}}
    assert value("attention_backend", "0.5.17", facts=facts) == expected


EAGLE = {"speculative_algorithm": "EAGLE", "speculative_num_steps": 3}


@pytest.mark.parametrize("version", ["0.5.9", "0.5.17", "0.5.23"])
@pytest.mark.parametrize(
    ("arch", "written", "expected"),
    [
        ("sm_90", {**EAGLE, "speculative_eagle_topk": 1}, "fa3"),
        ("sm_90", {**EAGLE, "speculative_eagle_topk": 1, "page_size": 1}, "fa3"),
        ("sm_90", {**EAGLE, "speculative_eagle_topk": 1, "page_size": 64}, "flashinfer"),
        ("sm_90", {**EAGLE, "speculative_eagle_topk": 4}, "flashinfer"),
        ("sm_90", {"page_size": 64}, "fa3"),
        ("sm_100", {**EAGLE, "speculative_eagle_topk": 1, "page_size": 64}, "flashinfer"),
        ("sm_100", {**EAGLE, "speculative_eagle_topk": 1}, "trtllm_mha"),
    ],
)
def test_drafts_on_large_pages_or_with_branches_have_another_attention(
    version: str, arch: str, written: dict[str, Any], expected: str
) -> None:
    facts = {"arch": arch, "model": {"model_type": "qwen3"}}
    assert value("attention_backend", version, facts=facts, **written) == expected


@pytest.mark.parametrize(("arch", "expected"), [("sm_90", "fa3"), ("sm_100", "trtllm_mha"), ("sm_120", "triton")])
def test_attention_sinks_of_gpt_oss_decide_its_attention(arch: str, expected: str) -> None:
    facts = {"arch": arch, "model": {"model_type": "gpt_oss"}}
    large = {**EAGLE, "speculative_eagle_topk": 1, "page_size": 64}
    assert value("attention_backend", "0.5.17", facts=facts) == expected
    assert value("attention_backend", "0.5.17", facts=facts, **large) == expected


@pytest.mark.parametrize(
    ("arch", "kind", "weights", "version", "expected"),
    [
        ("sm_100", "qwen3_moe", "fp8", "0.5.17", "flashinfer_trtllm"),
        ("sm_100", "qwen3_5_moe", "modelopt_fp4", "0.5.23", "flashinfer_trtllm"),
        ("sm_100", "kimi_k25", "modelopt_fp4", "0.5.9", "flashinfer_trtllm"),
        ("sm_100", "kimi_k25", "compressed-tensors", "0.5.9", "auto"),
        ("sm_100", "minimax_m2", "modelopt_fp4", "0.5.17", "auto"),
        ("sm_100", "minimax_m2", "modelopt_fp4", "0.5.20", "flashinfer_trtllm_routed"),
        ("sm_103", "gpt_oss", "mxfp4", "0.5.23", "flashinfer_mxfp4"),
        ("sm_90", "gpt_oss", "mxfp4", "0.5.23", "triton_kernel"),
        ("sm_120", "gpt_oss", "mxfp4", "0.5.9", "flashinfer_mxfp4"),
        ("sm_90", "qwen3_moe", "fp8", "0.5.23", "auto"),
    ],
)
def test_moe_runners_of_other_models_and_cards(arch: str, kind: str, weights: str, version: str, expected: str) -> None:
    facts = {"arch": arch, "model": {"model_type": kind, "quant_method": weights}}
    assert value("moe_runner_backend", version, facts=facts) == expected


def test_experts_in_parallel_change_who_runs_them() -> None:
    oss = {"arch": "sm_90", "model": {"model_type": "gpt_oss", "quant_method": "mxfp4"}}
    assert value("moe_runner_backend", "0.5.23", facts=oss, ep_size=4) == "auto"
    qwen = {"arch": "sm_100", "model": {"model_type": "qwen3_moe", "quant_method": "fp8"}}
    assert value("moe_runner_backend", "0.5.23", facts=qwen, moe_a2a_backend="deepep") == "auto"


@pytest.mark.parametrize(
    ("arch", "kind", "version", "expected"),
    [
        ("sm_89", "qwen3", "0.5.17", "fa3"),
        ("sm_89", "qwen3", "0.5.9", "flashinfer"),
        ("sm_100", "qwen3", "0.5.17", "flashinfer"),
        ("sm_120", "deepseek_v3", "0.5.17", "triton"),
        ("sm_89", "deepseek_v3", "0.5.17", "fa3"),
        ("sm_100", "deepseek_v3", "0.5.17", "trtllm_mla"),
        ("sm_120", "gpt_oss", "0.5.17", "triton"),
        ("sm_120", "glm_moe_dsa", "0.5.17", "dsa"),
    ],
)
def test_deterministic_inference_has_attention_of_its_own(arch: str, kind: str, version: str, expected: str) -> None:
    facts = {"arch": arch, "model": {"model_type": kind}}
    assert value("attention_backend", version, facts=facts, enable_deterministic_inference=True) == expected


@pytest.mark.parametrize(
    ("written", "attention", "page"),
    [
        ({}, "triton", 1),
        ({"disable_radix_cache": True}, "trtllm_mha", 64),
        ({**EAGLE, "speculative_eagle_topk": 1}, "trtllm_mha", 64),
        ({**EAGLE, "speculative_eagle_topk": 1, "page_size": 64}, "triton", 1),
    ],
)
def test_a_recurrent_state_decides_attention_and_page_on_sm_100(
    written: dict[str, Any], attention: str, page: int
) -> None:
    facts = {"arch": "sm_100", "model": {"model_type": "qwen3_next"}}
    assert value("attention_backend", "0.5.20", facts=facts, **written) == attention
    assert value("page_size", "0.5.20", facts=facts, **written) == page


def test_the_page_of_sparse_attention_holds_under_any_backend() -> None:
    facts = {"arch": "sm_90", "model": {"model_type": "glm_moe_dsa"}}
    assert value("page_size", "0.5.17", facts=facts, attention_backend="fa3") == 64


def test_deepseek_v4_overrides_attention_page_and_cache() -> None:
    outcomes = settled(facts={"model": DSV4}, attention_backend="triton", page_size=64).settings
    assert [outcomes[dest].value for dest in ("attention_backend", "page_size", "kv_cache_dtype")] == [
        "dsv4",
        256,
        "fp8_e4m3",
    ]
    assert outcomes["page_size"].written == 64
    assert outcomes["page_size"].basis is Basis.OBSERVED


def test_one_answer_of_all_releases_needs_no_version() -> None:
    assert value("max_running_requests", facts={"model": DSV4}) == 256


def test_an_answer_that_differs_between_releases_names_the_version() -> None:
    assert value("hicache_mem_layout") == "unknown: engine_version"
    assert value("hicache_mem_layout", "0.5.13") == "layer_first"


def test_a_chunk_is_divided_by_the_groups_of_dp_attention() -> None:
    given: Any = {"tp_size": 8, "dp_size": 8, "enable_dp_attention": True, "chunked_prefill_size": 16384}
    assert value("chunked_prefill_size", **given) == 2048


@pytest.mark.parametrize(("version", "expected"), [("0.5.21", 8), ("0.5.22", 1)])
def test_dp_size_moves_to_the_attention_groups_from_0_5_22_on(version: str, expected: int) -> None:
    outcomes = settled(version, tp_size=8, dp_size=8, enable_dp_attention=True).settings
    assert (outcomes["dp_size"].value, outcomes["attn_dp_size"].value) == (expected, 8)


def test_dp_attention_without_groups_is_off() -> None:
    assert value("enable_dp_attention", enable_dp_attention=True, tp_size=8) is False


def test_experts_span_the_group_under_an_all_to_all_backend() -> None:
    assert value("ep_size", tp_size=8, moe_a2a_backend="deepep") == 8


def test_ranks_meet_on_a_port_derived_from_the_servers() -> None:
    assert value("dist_port", port=31000) == 31233
    assert value("dist_port", dist_init_addr="10.0.0.1:5000") == 5000


def test_drafts_are_filled_in() -> None:
    given: Any = {"speculative_algorithm": "NEXTN", "speculative_num_steps": 3, "speculative_eagle_topk": 1}
    outcomes = settled(
        "0.5.17", quantization="modelopt_fp4", facts={"model": {"model_type": "glm4_moe"}}, **given
    ).settings
    assert outcomes["speculative_algorithm"].value == "EAGLE"
    assert outcomes["speculative_num_draft_tokens"].value == 4
    assert outcomes["speculative_draft_model_quantization"].value == "modelopt_fp4"


@pytest.mark.parametrize(
    ("version", "name", "written", "expected"),
    [
        ("0.5.23", "SGLANG_OPT_USE_TOPK_V2", "1", "0"),
        ("0.5.16", "SGLANG_OPT_DEEPGEMM_HC_PRENORM", "1", "0"),
        ("0.5.23", "SGLANG_OPT_DEEPGEMM_HC_PRENORM", "1", "1"),
        ("0.5.23", "CUDA_DEVICE_MAX_CONNECTIONS", "1", "8"),
    ],
)
def test_variables_that_the_engine_overwrites(version: str, name: str, written: str, expected: str) -> None:
    facts = {"arch": "sm_120", "model": DSV4}
    assert settled(version, env={name: written}, facts=facts).environment[name].value == expected


def test_an_old_name_and_its_successor_are_one_argument() -> None:
    outcomes = settled(
        "0.5.9", facts={"arch": "sm_120", "model": {"model_type": "glm_moe_dsa"}}, nsa_prefill_backend="tilelang"
    )
    assert outcomes.settings["dsa_prefill_backend"].value == "tilelang"
    assert outcomes.settings["dsa_decode_backend"].value == "flashmla_kv"
