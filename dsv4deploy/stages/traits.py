"""What follows from facts and arguments together: the model's family, how its weights are stored, how many GPUs."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from dsv4deploy.model.rule import Ask, Missing, known
from dsv4deploy.stages.releases import within

FAMILIES: Final = {
    "deepseek_v4": "deepseek-v4",
    "deepseek_v41": "deepseek-v4.1",
    "deepseek_v4.1": "deepseek-v4.1",
    "deepseek_v3": "deepseek-v3",
    "deepseek_v32": "deepseek-v3.2",
    "glm_moe_dsa": "glm-dsa",
    "glm4_moe": "glm-4",
    "kimi_k2": "kimi-k2",
    "kimi_k25": "kimi-k2",
    "gpt_oss": "gpt-oss",
    "minimax_m2": "minimax-m2",
    "qwen3_5_moe": "qwen3.5",
    "gemma4_unified": "gemma4",
}
ARCHITECTURES: Final = {
    "DeepseekV4ForCausalLM": "deepseek-v4",
    "DeepseekV3ForCausalLM": "deepseek-v3",
    "DeepseekV32ForCausalLM": "deepseek-v3.2",
    "GlmMoeDsaForCausalLM": "glm-dsa",
    "Glm4MoeForCausalLM": "glm-4",
    "KimiK25ForConditionalGeneration": "kimi-k2",
    "GptOssForCausalLM": "gpt-oss",
    "MiniMaxM2ForCausalLM": "minimax-m2",
    "Qwen3_5MoeForConditionalGeneration": "qwen3.5",
    "Gemma4ForConditionalGeneration": "gemma4",
    "Gemma4UnifiedForConditionalGeneration": "gemma4",
    "Llama4ForConditionalGeneration": "llama4",
    "NemotronHForCausalLM": "nemotron_h",
    "Glm4MoeLiteForCausalLM": "glm4_moe_lite",
    "DeepseekV2ForCausalLM": "deepseek_v2",
    "Qwen3NextForCausalLM": "qwen3_next",
}
ATTENTION: Final = {
    "deepseek-v4": "dsv4",
    "deepseek-v4.1": "dsv4",
    "deepseek-v3.2": "dsa",
    "glm-dsa": "dsa",
    "deepseek-v3": "mla",
    "kimi-k2": "mla",
    "deepseek_v2": "mla",
    "glm4_moe_lite": "mla",
}
# Which torch a release pins (package metadata); a patched build may differ.
TORCH_PINS: Final = ((">=0.5.22", "2.14.1"), (">=0.5.18", "2.13.0"), (">=0.5.11", "2.11.0"), (">=0.5.6", "2.9.1"))


def family(ask: Ask) -> str:
    """The model's family: by `model_type`, else by its architecture class."""
    if kind := known(ask, "fact:model.model_type"):
        return FAMILIES.get(kind, str(kind))
    for name in known(ask, "fact:model.architectures") or ():
        if name in ARCHITECTURES:
            return ARCHITECTURES[name]
    raise Missing("model.model_type")


# What a folder or repository is called; only a guess, so that it comes into play where nothing better is known.
NAMES: Final = (
    ("deepseek-v4.1", "deepseek_v41"), ("deepseek-v4", "deepseek_v4"), ("deepseek-v3.2", "deepseek_v32"),
    ("deepseek-v3", "deepseek_v3"), ("deepseek-r1", "deepseek_v3"), ("glm-5", "glm_moe_dsa"), ("glm-4", "glm4_moe"),
    ("kimi-k2", "kimi_k2"), ("gpt-oss", "gpt_oss"), ("minimax-m2", "minimax_m2"), ("qwen3.5", "qwen3_5_moe"),
)  # fmt: skip


def model_name(ask: Ask) -> str:
    """The last part of the model's path or repository, in small letters; empty if there is none."""
    return str(ask("written:model_path") or "").rstrip("/").rpartition("/")[2].lower()


def named_type(ask: Ask) -> str | None:
    """The model type that the model's name suggests."""
    try:
        name = model_name(ask)
    except Missing:
        return None
    return next((kind for prefix, kind in NAMES if name.startswith(prefix)), None)


def allocator(ask: Ask) -> str:
    """`expandable` if PyTorch's allocator grows its segments, else `fixed`."""
    said = (ask("env:PYTORCH_CUDA_ALLOC_CONF"), ask("env:PYTORCH_ALLOC_CONF"))
    grows = any("expandable_segments:true" in str(text).lower().replace(" ", "") for text in said)
    return "expandable" if grows else "fixed"


def attention(ask: Ask) -> str:
    """How the model attends: `dsv4`, `dsa`, `mla`, or `mha` for every other family."""
    return ATTENTION.get(ask("trait:family"), "mha")


def weights(ask: Ask) -> str:
    """How the expert weights are stored: nvfp4, hybrid-nvfp4, mxfp4-experts, mxfp4, fp8, or the method's own name."""
    method = known(ask, "fact:model.quant_method")
    algorithms = {known(ask, "fact:model.quant_algo"), known(ask, "fact:model.moe_quant_algo")}
    if "MIXED_PRECISION" in algorithms:
        return "hybrid-nvfp4" if "NVFP4" in algorithms else "modelopt_mixed"
    if method is None and "NVFP4" in algorithms:
        return "nvfp4"
    if method is None:
        if ask("written:quantization") in {"modelopt_fp4", "fp8", "awq", "gptq_marlin", "mxfp4"}:
            method = ask("written:quantization")
        else:
            raise Missing("model.quant_method")
    if method == "modelopt_fp4" or "NVFP4" in algorithms:
        return "nvfp4"
    if method == "fp8" and str(known(ask, "fact:model.experts_dtype")).lower() in {"mxfp4", "fp4", "mx_fp4"}:
        return "mxfp4-experts"
    return str(method)


# The blocks of the FP8 checkpoints that these families were published in.
BLOCKS: Final = {"deepseek-v3": 128, "deepseek-v3.2": 128, "deepseek-v4": 128, "minimax-m2": 128}


def block(ask: Ask) -> int:
    """How many rows of a weight share a scale: as the checkpoint says, else as its family was published."""
    said = known(ask, "fact:model.weight_block_size")
    if said:
        return int(said[0])
    published = BLOCKS.get(str(known(ask, "trait:family")))
    if published is None:
        raise Missing("model.weight_block_size")
    return published


def world(ask: Ask) -> int:
    """How many GPUs one engine takes over all its nodes."""
    return int(ask("setting:tp_size")) * int(ask("setting:pp_size"))


def devices(ask: Ask) -> int:
    """How many GPUs of this node one engine takes."""
    return -(-int(ask("trait:world")) // int(ask("setting:nnodes")))


def attention_groups(ask: Ask) -> int:
    """How many groups of GPUs each attend to requests of their own."""
    if (named := ask("written:attn_dp_size")) is not None:
        return int(named)
    return int(ask("written:dp_size") or 1) if ask("written:enable_dp_attention") else 1


def attention_dp(ask: Ask) -> bool:
    """Whether attention is data parallel."""
    return int(ask("trait:attention_groups")) > 1


def preview_build(ask: Ask) -> bool:
    """Whether the build is a preview or development image, whose version number says little."""
    build = str(known(ask, "fact:engine_build") or "").lower()
    return any(word in build for word in ("preview", "dev-", ":dev", "nightly", "main"))


def memory_in_use(ask: Ask) -> int:
    """The most memory in use on any GPU of this node, in MiB."""
    return max(ask("fact:gpu_memory_used_mib"), default=0)


def unified_memory(ask: Ask) -> bool:
    """Whether CPU and GPU share one memory; GB10 always does."""
    said = known(ask, "fact:unified_memory")
    return bool(said) if said is not None else ask("fact:arch") == "sm_121"


def acs_redirect(ask: Ask) -> bool:
    """Whether ACS redirects peer traffic anywhere between the GPUs; unknown until all kinds of ports are known."""
    keys = ("acs_redirect", "acs_redirect_root_ports", "acs_redirect_switch_downstream")
    said = [known(ask, f"fact:{key}") for key in keys]
    if any(said):
        return True
    if all(value is None for value in said):
        raise Missing("acs_redirect")
    return False


def meeting_host(ask: Ask) -> str:
    """The host of --dist-init-addr; empty if there is none."""
    return str(ask("written:dist_init_addr") or "").rpartition(":")[0].strip("[]")


def interfaces(ask: Ask) -> int:
    """How many network interfaces the node has."""
    return len(ask("fact:nics"))


def torch(ask: Ask) -> str:
    """The version of torch: as read, else as the engine's release pins it."""
    if found := known(ask, "fact:torch"):
        return re.sub(r"[+ ].*", "", found)
    release = ask("fact:engine_version")
    for versions, pinned in TORCH_PINS:
        if within(release, versions):
            return pinned
    raise Missing("torch")


TRAITS: Mapping[str, Callable[[Ask], Any]] = {
    "family": family,
    "attention": attention,
    "weights": weights,
    "block": block,
    "world": world,
    "devices": devices,
    "attention_groups": attention_groups,
    "attention_dp": attention_dp,
    "preview_build": preview_build,
    "memory_in_use": memory_in_use,
    "unified_memory": unified_memory,
    "acs_redirect": acs_redirect,
    "interfaces": interfaces,
    "meeting_host": meeting_host,
    "torch": torch,
    "model_name": model_name,
    "allocator": allocator,
}
