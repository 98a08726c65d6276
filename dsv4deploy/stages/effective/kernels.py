"""Which kernels run: what `auto` and nothing written become, by compute capability, model and version."""

from collections.abc import Mapping
from typing import Final

from dsv4deploy.model.effective import Basis
from dsv4deploy.model.rule import Ask, Missing, known
from dsv4deploy.stages.releases import since, within
from dsv4deploy.stages.situation import Decided, Resolver

HOPPER: Final = {"sm_90"}
SM100: Final = {"sm_100", "sm_103"}
# SGLang's own test for the consumer and workstation cards: major version 12.
SM120: Final = {"sm_120", "sm_121"}
# Families of which most layers keep a recurrent state instead of a cache.
HYBRIDS: Final = {"qwen3_next", "qwen3.5"}
# MLA models that are resolved as DeepSeek-V3 is.
TRTLLM_MLA: Final = {"deepseek-v3", "kimi-k2"}
ALIASES: Final = {"compressed": "dsv4", "nsa": "dsa"}


def attention(ask: Ask) -> Decided | None:
    """The attention backend of both phases; DeepSeek-V4 has but one."""
    written = ask("written:attention_backend")
    kind = known(ask, "trait:attention")
    if kind == "dsv4":
        return Decided("dsv4", "DeepSeek-V4 forces its own backend, whatever is written", Basis.OBSERVED)
    prefill, decode = ask("written:prefill_attention_backend"), ask("written:decode_attention_backend")
    if prefill is not None and prefill == decode:
        return Decided(prefill, "both phases name it", Basis.OBSERVED)
    if written is not None:
        renamed = ALIASES.get(str(written))
        return Decided(renamed, f"{written} is an old name of it") if renamed else None
    if kind is None:
        raise Missing("model.model_type")
    return _of_the_model(ask) or _deterministic(ask, kind) or _DEFAULT_ATTENTION[kind](ask)


def _of_the_model(ask: Ask) -> Decided | None:
    """What a model names itself, before anything else is asked."""
    family = ask("trait:family")
    if family == "gemma4" and since(ask, "0.5.11"):
        early = not since(ask, "0.5.13")
        return Decided("trtllm_mha" if ask("fact:arch") in SM100 and not early else "triton", "Gemma 4's own default")
    if family == "llama4":
        own = {**dict.fromkeys(SM100, "trtllm_mha"), **dict.fromkeys(HOPPER, "fa3")}
        return Decided(own.get(str(ask("fact:arch")), "triton"), "Llama 4's own default")
    return None


def _deterministic(ask: Ask, kind: str) -> Decided | None:
    """Only some backends give the same tokens each time; models with a backend of their own keep that, or are refused."""
    if not ask("written:enable_deterministic_inference") or not since(ask, "0.5.13"):
        return None
    arch = ask("fact:arch")
    if kind == "dsa" or ask("trait:family") == "gpt-oss" or (kind == "mla" and arch in SM100):
        return None
    if arch not in SM100 | SM120:
        return Decided("fa3", "deterministic inference on any card before Blackwell", Basis.OBSERVED)
    return Decided("triton" if kind == "mla" else "flashinfer", "deterministic inference on Blackwell", Basis.OBSERVED)


def _dsa(_: Ask) -> Decided:
    return Decided("dsa", "the default of models with DeepSeek sparse attention")


def _mla(ask: Ask) -> Decided:
    arch = ask("fact:arch")
    if arch in HOPPER:
        return Decided("fa3", "the default of MLA models on Hopper")
    if arch in SM100 and ask("trait:family") in TRTLLM_MLA:
        return Decided("trtllm_mla", "the default of DeepSeek-V3 on sm_100", Basis.INFERRED)
    if arch in SM100:
        return Decided("flashinfer", "the default of other MLA models on sm_100")
    return Decided("triton", "the default of MLA models on any other card")


def _mha(ask: Ask) -> Decided:
    arch, sinks = ask("fact:arch"), ask("trait:family") == "gpt-oss"
    serial = sinks or _drafts_serially(ask)
    if arch in SM100 and ask("trait:family") in HYBRIDS and not (serial and _keeps_states_apart(ask)):
        return Decided("triton", "the default of models with linear attention on sm_100")
    if arch in HOPPER and serial:
        return Decided("fa3", "the default on Hopper, unless drafts branch or have pages of several tokens")
    if arch in SM100 and serial and (sinks or not _topk_open(ask)):
        return Decided("trtllm_mha", "the default on sm_100, unless drafts branch or have pages of several tokens")
    if arch in SM120 and within(ask("fact:engine_version"), ">=0.5.6.post1,<0.5.7"):
        return Decided("trtllm_mha", "these releases take every Blackwell card for sm_100")
    if sinks:
        return Decided("triton", "FlashInfer has no attention sinks, which gpt-oss needs")
    return Decided("flashinfer", "the default on any other card, where FlashInfer is installed")


def _drafts_serially(ask: Ask) -> bool:
    """Whether there are no drafts, or drafts without branches on pages of one token: SGLang's own test."""
    topk = ask("written:speculative_eagle_topk")
    return topk is None or (topk == 1 and ask("written:page_size") in {None, 1})


def _keeps_states_apart(ask: Ask) -> bool:
    """Whether a recurrent state needs no page of one token: then such a model takes what every other does."""
    if not since(ask, "0.5.13"):
        return False
    drafts = ask("written:speculative_eagle_topk") is not None
    return bool(drafts or ask("written:disable_radix_cache") or ask("written:mamba_scheduler_strategy"))


def _topk_open(ask: Ask) -> bool:
    """Whether drafts are asked for without saying how they branch."""
    return ask("written:speculative_algorithm") is not None and ask("written:speculative_eagle_topk") is None


_DEFAULT_ATTENTION: Final = {"dsa": _dsa, "mla": _mla, "mha": _mha}


def moe_runner(ask: Ask) -> Decided | None:
    """What runs the experts."""
    written = ask("written:moe_runner_backend")
    if written not in (None, "auto"):
        return None
    weights = ask("trait:weights")
    arch = ask("fact:arch")
    v4 = known(ask, "trait:attention") == "dsv4"
    if weights == "fp8" and v4 and known(ask, "fact:model.experts_dtype") is None:
        # Its published FP8 checkpoints differ in just this: the experts are MXFP4 or FP8.
        raise Missing("model.experts_dtype")
    chosen = _moe_of_dsv4(ask, weights) if weights in {"hybrid-nvfp4", "mxfp4-experts"} else None
    if chosen is None and arch in SM120:
        chosen = _moe_on_sm120(ask, weights)
    if chosen is None and arch in SM100:
        chosen = _moe_on_sm100(ask, weights)
    if chosen is None and arch not in SM100 | SM120:
        chosen = _moe_elsewhere(ask, weights)
    return chosen or Decided("auto", "left to the quantization method when the layer is built")


def _moe_of_dsv4(ask: Ask, weights: str) -> Decided | None:
    """What DeepSeek-V4 picks on any card."""
    if ask("trait:attention") != "dsv4":
        return None
    if weights == "hybrid-nvfp4" and since(ask, "0.5.14"):
        return Decided("flashinfer_trtllm_routed", "DeepSeek-V4 picks it before the card is looked at", Basis.OBSERVED)
    if weights == "mxfp4-experts" and since(ask, "0.5.20"):
        return Decided("flashinfer_mxfp4", "DeepSeek-V4 on any card since 0.5.20", Basis.OBSERVED)
    return None


# The first line that fits: (attention or families, weights, since, runner, whose default).
MOE_ON_SM100: Final = (
    ({*TRTLLM_MLA, "dsa"}, {"fp8", "nvfp4"}, "0", "flashinfer_trtllm", "DeepSeek types"),
    ({"glm-4"}, {"nvfp4"}, "0.5.10", "flashinfer_trtllm", "GLM-4 in NVFP4"),
    ({"qwen3_moe", "qwen3_next", "qwen3.5"}, {"fp8", "nvfp4"}, "0.5.9", "flashinfer_trtllm", "Qwen3's experts"),
    ({"minimax-m2"}, {"nvfp4"}, "0.5.18", "flashinfer_trtllm_routed", "MiniMax in NVFP4"),
    ({"gpt-oss"}, {"mxfp4"}, "0.5.9", "flashinfer_mxfp4", "gpt-oss"),
)


def _moe_on_sm100(ask: Ask, weights: str) -> Decided | None:
    if ask("written:moe_a2a_backend") not in {None, "none"}:
        return None
    mine = {ask("trait:attention"), ask("trait:family")}
    for whose, stored, release, runner, name in MOE_ON_SM100:
        if mine & whose and weights in stored and since(ask, release):
            return Decided(runner, f"the default of {name} on sm_100", Basis.OBSERVED)
    return None


# The first line whose weights and release fit: (weights, DeepSeek-V4 only, since, runner, why).
MOE_ON_SM120: Final = (
    ("hybrid-nvfp4", True, "0.5.13", "marlin", "the sm_120 path of DeepSeek-V4 in 0.5.13 takes every checkpoint"),
    ("mxfp4-experts", True, "0.5.16", "flashinfer_mxfp4", "the sm_120 path of DeepSeek-V4 since 0.5.16"),
    ("mxfp4-experts", True, "0.5.13", "marlin", "the sm_120 path of DeepSeek-V4 in 0.5.13 to 0.5.15"),
    ("nvfp4", False, "0.5.13", "flashinfer_cutlass", "NVFP4 on sm_120 since 0.5.13"),
    ("nvfp4", False, "0", "cutlass", "the sgl-kernel path, before 0.5.13 chose another for sm_120"),
    ("mxfp4", False, "0.5.17", "flashinfer_mxfp4", "gpt-oss on sm_120 since 0.5.17"),
    ("mxfp4", False, "0.5.14", "marlin", "gpt-oss on sm_120 in 0.5.14 to 0.5.16"),
    ("mxfp4", False, "0.5.10", "triton_kernel", "gpt-oss on sm_120 in 0.5.10 to 0.5.13"),
    ("mxfp4", False, "0.5.9", "flashinfer_mxfp4", "gpt-oss in 0.5.9, which takes every Blackwell card for sm_100"),
)


def _moe_on_sm120(ask: Ask, weights: str) -> Decided | None:
    if weights == "nvfp4" and ask("written:quantization") is None and since(ask, "0.5.13"):
        # The resolver looks at the flag only; what it leaves open, the layer takes for sm_100.
        if not ask("fact:model.n_routed_experts"):
            return None
        return Decided(
            "flashinfer_trtllm", "what the layer itself takes where --quantization is not written", Basis.INFERRED
        )
    for stored, dsv4, release, runner, why in MOE_ON_SM120:
        if stored == weights and (not dsv4 or ask("trait:attention") == "dsv4") and since(ask, release):
            return Decided(runner, why, Basis.OBSERVED)
    return None


def _moe_elsewhere(ask: Ask, weights: str) -> Decided | None:
    if weights == "mxfp4" and ask("trait:family") == "gpt-oss" and ask("setting:ep_size") in {None, 1}:
        return Decided("triton_kernel", "gpt-oss on cards before Blackwell, without expert parallelism", Basis.OBSERVED)
    return None


def fp8_gemm(ask: Ask) -> Decided | None:
    """What multiplies dense FP8 blocks; before 0.5.10 DeepGEMM did, where its package could be imported."""
    if ask("written:fp8_gemm_runner_backend") not in (None, "auto"):
        return None
    if ask("fact:arch") not in SM120:
        return Decided("auto", "DeepGEMM where it is installed and allowed, then the next that fits")
    if since(ask, "0.5.16"):
        return Decided("cutlass", "sm_120 since 0.5.16")
    if since(ask, "0.5.10"):
        return Decided("triton", "sm_120 in 0.5.10 to 0.5.15")
    raise Missing("deep_gemm")


def fp4_gemm(ask: Ask) -> Decided | None:
    """What multiplies dense FP4 blocks."""
    if ask("written:fp4_gemm_runner_backend") not in (None, "auto") or ask("fact:arch") not in SM120:
        return None
    if since(ask, "0.5.9"):
        return Decided("flashinfer_cutlass", "what auto is on sm_120", Basis.INFERRED)
    return None


def dsa_prefill(ask: Ask) -> Decided | None:
    """The sparse-attention kernel for prefill."""
    return _dsa_kernel(ask, "prefill")


def dsa_decode(ask: Ask) -> Decided | None:
    """The sparse-attention kernel for decode."""
    return _dsa_kernel(ask, "decode")


def _dsa_kernel(ask: Ask, phase: str) -> Decided | None:
    if ask(f"written:dsa_{phase}_backend") is not None or ask("trait:attention") != "dsa":
        return None
    blackwell = ask("fact:arch") in SM100 | SM120
    if ask("setting:kv_cache_dtype") == "fp8_e4m3":
        if blackwell or (phase == "prefill" and not since(ask, "0.5.10")):
            return _dsa_fp8(ask, phase)
        return Decided("flashmla_kv", "an FP8 cache on Hopper", Basis.OBSERVED)
    if phase == "prefill":
        return Decided("flashmla_sparse", "a BF16 cache")
    return Decided("trtllm" if blackwell else "fa3", "a BF16 cache")


def _dsa_fp8(ask: Ask, phase: str) -> Decided:
    if ask("fact:arch") in SM120 and ask("trait:family") == "glm-dsa" and since(ask, "0.5.17"):
        return Decided("flashinfer_sparse_mla", "GLM with an FP8 cache on sm_120 since 0.5.17")
    if since(ask, "0.5.10"):
        return Decided("trtllm", "an FP8 cache on any Blackwell card since 0.5.10")
    return Decided("flashmla_auto" if phase == "prefill" else "flashmla_kv", "an FP8 cache before 0.5.10")


RESOLVERS: Mapping[str, Resolver] = {
    "attention_backend": attention,
    "moe_runner_backend": moe_runner,
    "fp8_gemm_runner_backend": fp8_gemm,
    "fp4_gemm_runner_backend": fp4_gemm,
    "dsa_prefill_backend": dsa_prefill,
    "dsa_decode_backend": dsa_decode,
}
