"""Lets the real argument resolver of one SGLang wheel resolve command lines on a pretended GPU and model.

Usage: resolve_server.py WHEEL; one JSON line in, one out. Libraries are stand-ins as in `server.py`; what the resolver asks
about the machine and the model is answered here, so that the answer shows what it decides and not that a kernel works.
"""

import argparse
import contextlib
import importlib
import json
import logging
import os
import sys
import warnings
from collections.abc import Callable
from typing import Any

import server

MLA = {"deepseek_v4", "glm_moe_dsa", "deepseek_v32", "deepseek_v3", "kimi_k25"}
SPARSE = {"glm_moe_dsa", "deepseek_v32"}
ARCHITECTURES = {
    "deepseek_v4": "DeepseekV4ForCausalLM",
    "glm_moe_dsa": "GlmMoeDsaForCausalLM",
    "deepseek_v3": "DeepseekV3ForCausalLM",
    "kimi_k25": "KimiK25ForConditionalGeneration",
    # SGLang reads V3.2 as a V3 with an indexer.
    "deepseek_v32": "DeepseekV3ForCausalLM",
    "glm4_moe": "Glm4MoeForCausalLM",
    "gpt_oss": "GptOssForCausalLM",
    "llama": "LlamaForCausalLM",
    "minimax_m2": "MiniMaxM2ForCausalLM",
    "mistral": "MistralForCausalLM",
    "qwen3": "Qwen3ForCausalLM",
    "qwen3_5_moe": "Qwen3_5MoeForConditionalGeneration",
    "qwen3_moe": "Qwen3MoeForCausalLM",
    "qwen3_next": "Qwen3NextForCausalLM",
    "gemma3": "Gemma3ForConditionalGeneration",
}
# Steps that read files of the model or ask for plugins.
SKIPPED = (
    "handle_model_source_paths", "handle_load_format", "apply_muse_spark_env_defaults", "handle_expert_pack",
    "apply_inkling_prefill_cuda_graph_default", "apply_muse_glimmer_prefill_cuda_graph_max_bs_default",
    "handle_amd_monokernel", "handle_nvidia_megakernel", "supports_prefill_cp_bcg",
)  # fmt: skip


# Modules that the resolver imports only when it comes to them: what stands in them is replaced before.
LATE = (
    *(
        f"arg_groups.{name}_hook"
        for name in (
            "muse_spark", "model_path", "expert_pack", "cuda_graph", "memory", "serving", "model", "attention", "kv_cache",
            "hicache", "moe", "parallel", "speculative", "validation", "platform", "deepseek_v4", "mega_moe", "mamba",
        )
    ),
    "arg_groups.overrides", "arg_groups.pipeline", "arg_groups.model_override_base", "configs.model_config",
    "utils.hf_transformers.config", "utils.common", "layers.cp.bcg", "model_executor.cuda_graph_config",
    "kernel_plugins.amd.binding", "kernel_plugins.nvidia.binding",
)  # fmt: skip


class Bag:
    """Holds what it is given; of anything else it says nothing."""

    def __init__(self, **given: Any) -> None:
        self.__dict__.update(given)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)


def answers(value: Any) -> Callable[..., Any]:
    return lambda *_, **__: value


def everywhere(name: str, value: Any) -> None:
    """Put `value` in the place of `name` in every module of SGLang that has it."""
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("sglang") and name in module.__dict__:
            setattr(module, name, value)


def pretend_card(sm: int, memory_mib: int, kind: str) -> None:
    sm100, blackwell, torch = sm in {100, 103}, sm >= 100, importlib.import_module("torch")
    asked = {
        "is_cuda": True, "is_cuda_alike": True, "is_hip": False, "is_npu": False, "is_xpu": False, "is_musa": False,
        "is_mps": False, "is_cpu": False, "is_hpu": False, "is_gfx95_supported": False, "is_blackwell": blackwell,
        "is_sm90_supported": sm == 90, "is_sm100_supported": sm100, "is_sm120_supported": sm == 120,
        "is_blackwell_supported": blackwell, "is_sm100_or_sm110_supported": sm100, "get_device": "cuda",
        "is_hopper_with_cuda_12_3": sm == 90, "is_flashinfer_available": True, "is_triton_kernels_available": True,
        "get_device_memory_capacity": memory_mib, "get_device_sm": sm, "parse_connector_type": None,
        "get_nvidia_driver_version": (580, 0), "cpu_has_amx_support": False, "uses_kda_attention": False,
        "is_minimax_sparse": False, "is_qwen3_5": kind == "qwen3_5_moe", "default_prefill_backend": "breakable",
        "get_platform": Bag(
            is_cuda=True, is_sm90=sm == 90, is_sm100=sm100, is_sm100_or_sm110=sm100, is_sm120=sm == 120,
            is_blackwell=blackwell, has_flashinfer=True, device_sm=sm, device_capability=(sm // 10, sm % 10),
            is_hopper_with_cuda_12_3=sm == 90,
        ),
    }  # fmt: skip
    for name, value in asked.items():
        everywhere(name, answers(value))
    for name in SKIPPED:
        everywhere(name, answers(None))
    torch.cuda.get_device_capability = answers((sm // 10, sm % 10))


def pretend_model(server_args: Any, kind: str, quantization: str | None, hybrid: bool) -> Bag:
    text = Bag(
        architectures=[ARCHITECTURES[kind]],
        model_type=kind,
        quantization_config={"quant_method": quantization} if quantization else None,
        index_topk=512,
        index_kpool=1,
        mamba_chunk_size=64,
        vision_n_layers=0,
    )
    model = Bag(
        hf_config=text, hf_text_config=text, quantization=quantization, context_len=131072, head_dim=128, v_head_dim=128,
        is_generation=True, nvfp4_moe_meta={"group_size": 16, "exclude_modules": []} if hybrid else None,
        is_fp4_experts=kind == "deepseek_v4", model_path="/m", get_num_kv_heads=answers(8), hf_quant_config={},
        is_hybrid_swa=kind == "deepseek_v4", is_multimodal_chunked_prefill_supported=True,
    )  # fmt: skip
    server_args.get_model_config = answers(model)
    server_args.use_mla_backend = answers(kind in MLA)
    everywhere("use_mla_backend", answers(kind in MLA))
    everywhere("model_config_of", answers(model))
    everywhere("get_config", answers(text))
    everywhere("is_deepseek_v4", answers(kind == "deepseek_v4"))
    for name in ("is_deepseek_nsa", "is_deepseek_dsa"):
        everywhere(name, answers(kind in SPARSE))
    return model


def resolved(server_args: Any, asked: dict[str, Any]) -> dict[str, Any]:
    for name in LATE:
        with contextlib.suppress(ImportError):
            importlib.import_module(f"sglang.srt.{name}")
    pretend_card(asked["sm"], asked["memory_mib"], asked["model_type"])
    model = pretend_model(server_args, asked["model_type"], asked["quant_method"], asked["hybrid"])
    parser = argparse.ArgumentParser()
    server_args.add_cli_args(parser)
    args = server_args.from_cli_args(parser.parse_args(["--model-path", "/m", *asked["words"]]))
    if not hasattr(args, "resolve_once"):
        if asked["check"]:
            args.check_server_args()
        return {name: value(getattr(args, name, None)) for name in asked["names"]}
    args._model_config = model  # noqa: SLF001 (where the resolver keeps it)
    args.resolve_once()
    if asked["check"]:
        args.check_server_args()
    result = importlib.import_module("sglang.srt.arg_groups.overrides").resolution_result
    found = {}
    for name in asked["names"]:
        with contextlib.suppress(Exception):
            found[name] = value(result(args, name))
    return found


def value(given: Any) -> Any:
    """As JSON; a graph configuration as its backends and largest batches."""
    if hasattr(given, "decode") and hasattr(given, "prefill"):
        phases = {"decode": given.decode, "prefill": given.prefill}
        return {name: [str(getattr(one.backend, "value", one.backend)), one.max_bs] for name, one in phases.items()}
    return server.plain(given)


def main(wheel: str) -> None:
    server.FINDER.append(server.Finder(wheel))
    sys.meta_path.insert(0, server.FINDER[0])
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    # A stand-in counts as 0, so that whatever SGLang closes by number may be one of ours.
    lines, output = os.fdopen(os.dup(0)), os.fdopen(os.dup(1), "w")
    server_args = importlib.import_module("sglang.srt.server_args").ServerArgs
    clean = dict(os.environ)
    for line in lines:
        os.environ.clear()
        os.environ.update(clean)
        with contextlib.redirect_stdout(sys.stderr):
            try:
                told: dict[str, Any] = {"values": resolved(server_args, json.loads(line))}
            except (Exception, SystemExit) as problem:  # noqa: BLE001 (whatever the resolver refuses with)
                told = {"refused": f"{type(problem).__name__}: {problem}"}
        print(json.dumps(told), file=output, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
