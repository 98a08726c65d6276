"""Effective settings hold against the real resolver of one release of each definition era, on a pretended card."""

import random
from itertools import product
from typing import Any

import pytest
from real_resolver import CARDS, HOLES, MEMORY_MIB, RELEASES, Resolvers, knows
from refusals import errors

from dsv4deploy.flags import history
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Launch, Setting
from dsv4deploy.source.argv import parse
from dsv4deploy.stages.effective import effective

# Ours -> what the resolver calls it, newest name first.
NAMES = {
    "attention_backend": ("attention_backend",),
    "moe_runner_backend": ("moe_runner_backend",),
    "page_size": ("page_size",),
    "kv_cache_dtype": ("kv_cache_dtype",),
    "chunked_prefill_size": ("chunked_prefill_size",),
    "max_running_requests": ("max_running_requests",),
    "ep_size": ("ep_size",),
    "dsa_prefill_backend": ("dsa_prefill_backend", "nsa_prefill_backend"),
    "dsa_decode_backend": ("dsa_decode_backend", "nsa_decode_backend"),
    "speculative_num_draft_tokens": ("speculative_num_draft_tokens",),
}
HYBRID = {"quant_method": "modelopt", "quant_algo": "MIXED_PRECISION", "moe_quant_algo": "NVFP4"}
FP8 = {"quant_method": "fp8"}
NVFP4 = {"quant_method": "modelopt_fp4"}
EAGLE = (
    "--speculative-algorithm EAGLE --speculative-num-steps 3 --speculative-num-draft-tokens 4 --speculative-eagle-topk"
)
MXFP4 = {"quant_method": "fp8", "experts_dtype": "mxfp4"}
# Model type, its facts, and the arguments.
QUESTIONS: tuple[tuple[str, dict[str, str], str], ...] = (
    ("llama", {}, ""),
    ("llama", {}, "--tp-size 8 --disable-cuda-graph"),
    ("llama", {}, "--tp-size 8 --dp-size 8 --enable-dp-attention --chunked-prefill-size 16384"),
    ("glm4_moe", {"quant_method": "modelopt_fp4"}, "--tp-size 8 --quantization modelopt_fp4"),
    ("glm4_moe", {"quant_method": "fp8"}, "--tp-size 8 --moe-a2a-backend deepep"),
    ("deepseek_v3", {"quant_method": "fp8"}, "--tp-size 8"),
    ("kimi_k25", {"quant_method": "compressed-tensors"}, "--tp-size 8"),
    ("glm_moe_dsa", {"quant_method": "modelopt_fp4"}, "--tp-size 8 --quantization modelopt_fp4"),
    ("glm_moe_dsa", {"quant_method": "fp8"}, "--tp-size 8 --kv-cache-dtype bfloat16"),
    ("deepseek_v4", MXFP4, "--tp-size 4"),
    ("deepseek_v4", MXFP4, "--tp-size 4 --attention-backend triton --page-size 64 --max-running-requests 16"),
    ("deepseek_v4", HYBRID, "--tp-size 8"),
    ("deepseek_v4", {"quant_method": "fp8"}, "--tp-size 4"),
    ("deepseek_v32", FP8, "--tp-size 8"),
    ("deepseek_v3", {"quant_method": "w4afp8"}, "--tp-size 8"),
    ("deepseek_v3", FP8, "--tp-size 8 --enable-deterministic-inference"),
    ("deepseek_v3", FP8, "--tp-size 8 --ep-size 8 --speculative-algorithm NEXTN"),
    ("kimi_k25", NVFP4, "--tp-size 8"),
    ("glm_moe_dsa", FP8, "--tp-size 8 --attention-backend fa3"),
    ("glm_moe_dsa", FP8, "--tp-size 8 --kv-cache-dtype fp8_e4m3"),
    ("minimax_m2", FP8, "--tp-size 4"),
    ("minimax_m2", NVFP4, "--tp-size 4"),
    ("gpt_oss", {"quant_method": "mxfp4"}, "--tp-size 4"),
    ("gpt_oss", {"quant_method": "mxfp4"}, "--tp-size 4 --ep-size 4"),
    ("gpt_oss", {"quant_method": "mxfp4"}, f"--tp-size 4 --page-size 64 {EAGLE} 1"),
    ("qwen3", {}, f"--tp-size 4 {EAGLE} 1"),
    ("qwen3", {}, f"--tp-size 4 --page-size 64 {EAGLE} 1"),
    ("qwen3", {}, f"--tp-size 4 {EAGLE} 4"),
    ("qwen3", {}, "--enable-deterministic-inference"),
    ("qwen3", {}, "--enable-lora --lora-paths a=/a --enable-hierarchical-cache --page-size 32"),
    ("qwen3_moe", FP8, "--tp-size 4"),
    ("qwen3_moe", NVFP4, "--tp-size 4 --ep-size 4"),
    ("qwen3_moe", FP8, "--tp-size 2 --pp-size 2"),
    ("qwen3_next", FP8, "--tp-size 4"),
    ("qwen3_next", {}, "--tp-size 4 --disable-radix-cache"),
    ("qwen3_next", {}, f"--tp-size 4 {EAGLE} 1"),
    ("qwen3_next", {}, f"--tp-size 4 --page-size 64 {EAGLE} 1"),
    ("qwen3_5_moe", NVFP4, "--tp-size 4"),
    ("gemma3", {}, "--tp-size 2"),
    ("mistral", {"quant_method": "awq"}, "--tp-size 2"),
)
ROWS = [
    (version, sm, number)
    for version, sm, number in product(RELEASES, CARDS, range(len(QUESTIONS)))
    if knows(version, QUESTIONS[number][0])
]
# The rest is for the soak: each takes a thirtieth of a second.
IN_CI = frozenset(random.Random(9).sample(ROWS, 500))  # noqa: S311 (a choice of tests, the same each time)


def ours(version: str, sm: int, kind: str, model: dict[str, str], words: list[str]) -> dict[str, Any]:
    catalogue = history().at(version)
    given = parse(["--model-path", "/m", *words], catalogue).given
    settings = {dest: Setting(dest, one.value, one.flag.name) for dest, one in given.items()}
    facts = Facts.model_validate(
        {"arch": f"sm_{sm}", "gpu_memory_mib": MEMORY_MIB, "model": {"model_type": kind, **model}}
    )
    outcomes = effective(Launch(version, settings), catalogue, facts).settings
    return {dest: None if one.needs else one.value for dest, one in outcomes.items()}


def theirs(answer: dict[str, Any]) -> dict[str, Any]:
    values = answer["values"]
    found = {dest: next((values[n] for n in names if values.get(n) is not None), None) for dest, names in NAMES.items()}
    if found["attention_backend"] == "nsa":
        found["attention_backend"] = "dsa"
    if graphs := values.get("cuda_graph_config"):
        found["cuda_graph_backend_decode"], found["cuda_graph_max_bs_decode"] = graphs["decode"]
        found["cuda_graph_backend_prefill"] = graphs["prefill"][0]
    else:
        found["cuda_graph_backend_decode"] = "disabled" if values["disable_cuda_graph"] else "full"
        found["cuda_graph_max_bs_decode"] = values["cuda_graph_max_bs"]
    return found


def differs(dest: str, own: Any, real: Any) -> bool:
    if dest == "moe_runner_backend" and real == "auto":
        return False  # decided when the layer is built, after the resolver; ours goes on to that
    if dest == "chunked_prefill_size" or own is not None:
        return bool(own != real)
    return False  # an answer we do not give is no wrong one


def _param(row: tuple[str, int, int]) -> Any:
    version, sm, number = row
    mark = pytest.mark.oracle if row in IN_CI else pytest.mark.soak
    return pytest.param(
        version, sm, QUESTIONS[number], marks=mark, id=f"{version}-{sm}-{QUESTIONS[number][0]}-{number}"
    )


@pytest.mark.parametrize(("version", "sm", "question"), [_param(row) for row in ROWS])
def test_ours_is_what_the_resolver_says(
    resolvers: Resolvers, version: str, sm: int, question: tuple[str, dict[str, str], str]
) -> None:
    """Setting by setting; a launch that it refuses is an error of ours."""
    kind, model, line = question
    asked = [name for names in NAMES.values() for name in names]
    names = [*asked, "cuda_graph_config", "disable_cuda_graph", "cuda_graph_max_bs"]
    answer = resolvers[version].ask(line.split(), sm, kind, model, names)
    if refused := answer.get("refused"):
        assert not refused.startswith(HOLES)
        assert errors(version, sm, kind, model, line), refused
        return
    own, said = ours(version, sm, kind, model, line.split()), theirs(answer)
    wrong = {d: (own.get(d), said[d]) for d in said if said[d] is not None and differs(d, own.get(d), said[d])}
    assert wrong == {}
