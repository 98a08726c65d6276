"""Environment variables that SGLang writes itself, and which of those it takes no other value for."""

from collections.abc import Mapping
from typing import Final

from dsv4deploy.model.effective import Basis
from dsv4deploy.model.rule import Ask, known
from dsv4deploy.stages.effective.kernels import SM120
from dsv4deploy.stages.releases import since
from dsv4deploy.stages.situation import Decided, Resolver

# What DeepSeek-V4 sets on sm_120, and from which release on a value that somebody set is left alone (None: never).
DSV4_ON_SM120: Final = {
    "SGLANG_OPT_USE_TOPK_V2": ("0", None),
    "SGLANG_OPT_FP8_WO_A_GEMM": ("0", "0.5.21"),
    "SGLANG_OPT_USE_TILELANG_MHC_PRE": ("0", "0.5.20"),
    "SGLANG_OPT_DEEPGEMM_HC_PRENORM": ("0", "0.5.20"),
    "SGLANG_FP8_PAGED_MQA_LOGITS_TORCH": ("1", "0.5.20"),
    "SGLANG_OPT_USE_TILELANG_INDEXER": ("1", "0.5.20"),
    "SGLANG_OPT_FUSE_MHC_POST_PRE": ("1", "0.5.13"),
}


def on_sm120(name: str) -> Resolver:
    """What DeepSeek-V4 makes of one of its switches on sm_120."""
    forced, honoured = DSV4_ON_SM120[name]

    def resolver(ask: Ask) -> Decided | None:
        if known(ask, "trait:attention") != "dsv4" or known(ask, "fact:arch") not in SM120:
            return None
        if not since(ask, "0.5.13"):
            return None
        written = ask(f"written:env:{name}")
        if written is not None and honoured and since(ask, honoured):
            return None
        why = "DeepSeek-V4 on sm_120 forces it" if written is not None else "DeepSeek-V4 sets it on sm_120"
        return Decided(forced, why, Basis.OBSERVED)

    return resolver


def max_connections(_: Ask) -> Decided:
    """CUDA_DEVICE_MAX_CONNECTIONS."""
    return Decided("8", "SGLang always overwrites it")


def enable_torch_compile(ask: Ask) -> Decided:
    """SGLANG_ENABLE_TORCH_COMPILE."""
    value = "1" if ask("written:enable_torch_compile") else "0"
    return Decided(value, "SGLang always overwrites it with what --enable-torch-compile says", Basis.OBSERVED)


def cumem(ask: Ask) -> Decided | None:
    """NCCL_CUMEM_ENABLE."""
    if ask("written:enable_symm_mem"):
        return Decided("1", "--enable-symm-mem forces it")
    return None if ask("written:env:NCCL_CUMEM_ENABLE") is not None else Decided("0", "SGLang's own default")


def nvls(ask: Ask) -> Decided | None:
    """NCCL_NVLS_ENABLE."""
    if ask("written:enable_nccl_nvls") or ask("written:enable_symm_mem"):
        return Decided("1", "--enable-nccl-nvls or --enable-symm-mem forces it")
    return None if ask("written:env:NCCL_NVLS_ENABLE") is not None else Decided("0", "SGLang's own default")


def graph_register(ask: Ask) -> Decided | None:
    """NCCL_GRAPH_REGISTER."""
    if ask("written:env:NCCL_GRAPH_REGISTER") is not None or not since(ask, "0.5.20"):
        return None
    return Decided("0", "SGLang's own default with graphs over several GPUs", Basis.OBSERVED)


def deterministic(name: str, value: str) -> Resolver:
    """What deterministic inference overwrites."""

    def resolver(ask: Ask) -> Decided | None:
        if ask("written:enable_deterministic_inference") and int(ask("setting:tp_size")) > 1:
            return Decided(value, f"deterministic inference overwrites {name}")
        return None

    return resolver


RESOLVERS: Mapping[str, Resolver] = {
    **{f"env:{name}": on_sm120(name) for name in DSV4_ON_SM120},
    "env:CUDA_DEVICE_MAX_CONNECTIONS": max_connections,
    "env:SGLANG_ENABLE_TORCH_COMPILE": enable_torch_compile,
    "env:NCCL_CUMEM_ENABLE": cumem,
    "env:NCCL_NVLS_ENABLE": nvls,
    "env:NCCL_GRAPH_REGISTER": graph_register,
    "env:NCCL_ALGO": deterministic("NCCL_ALGO", "allreduce:tree"),
}
