"""Compares variables that are set with those in effect."""

from typing import Final

from dsv4deploy.model.rule import Ask, Found, known

NAMES: Final = (
    "CUDA_DEVICE_MAX_CONNECTIONS", "NCCL_ALGO", "NCCL_CUMEM_ENABLE", "NCCL_NVLS_ENABLE", "SGLANG_OPT_USE_TOPK_V2",
    "SGLANG_OPT_FP8_WO_A_GEMM", "SGLANG_OPT_USE_TILELANG_MHC_PRE", "SGLANG_OPT_DEEPGEMM_HC_PRENORM",
    "SGLANG_FP8_PAGED_MQA_LOGITS_TORCH", "SGLANG_ENABLE_TORCH_COMPILE",
    "SGLANG_OPT_USE_TILELANG_INDEXER", "SGLANG_OPT_FUSE_MHC_POST_PRE",
)  # fmt: skip


def verdict(ask: Ask) -> Found | None:
    """Found if any variable that is set has no effect."""
    pairs = [(name, ask(f"written:env:{name}"), known(ask, f"env:{name}")) for name in NAMES]
    lost = [(name, said, now) for name, said, now in pairs if said is not None and now not in {None, said}]
    if not lost:
        return None
    told = "; ".join(f"{name} is {said}, in effect {now}" for name, said, now in lost)
    return Found(told, tuple(f"env:{name}" for name, _, _ in lost))
