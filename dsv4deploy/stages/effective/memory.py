"""Cache, pages, chunks and how many requests run at once."""

from collections.abc import Mapping
from typing import Final

from dsv4deploy.model.effective import Basis
from dsv4deploy.model.rule import Ask, known
from dsv4deploy.stages.effective.kernels import HYBRIDS, SM100, SM120
from dsv4deploy.stages.releases import since
from dsv4deploy.stages.situation import Decided, Resolver

DSV4_PAGE: Final = 256
# Pages that a backend insists on, whatever is written (smallest first where several are allowed).
PAGES: Final = {"flashmla": (64,), "cutlass_mla": (128,), "trtllm_mla": (32, 64), "trtllm_mha": (16, 32, 64)}


# Below this memory in GiB: tokens of a prefill chunk, largest decode graph below tp 4, and from tp 4 on.
TIERS: Final = ((20, 2048, 8, 8), (35, 2048, 24, 80), (60, 4096, 32, 160), (160, 8192, 256, 512))
LARGEST: Final = (16384, 512, 512)
TIER_35_SINCE_0_5_20: Final = (4096, 48, 160)


def by_memory(ask: Ask) -> tuple[int, int, int]:
    """What SGLang chooses by the memory of one GPU: prefill chunk, largest decode graph below and from tp 4."""
    gib = int(ask("fact:gpu_memory_mib")) / 1024
    for limit, *chosen in TIERS:
        if gib < limit:
            newer = limit == 35 and since(ask, "0.5.20")  # noqa: PLR2004 (the one tier that moved)
            return TIER_35_SINCE_0_5_20 if newer else (chosen[0], chosen[1], chosen[2])
    return LARGEST


def kv_cache_dtype(ask: Ask) -> Decided | None:
    """The type of the KV cache."""
    written = ask("written:kv_cache_dtype")
    if written == "bf16":
        return Decided("bfloat16", "bf16 is a short name of it", Basis.READ)
    if written not in (None, "auto"):
        return None
    kind = known(ask, "trait:attention")
    if kind == "dsv4":
        return Decided("fp8_e4m3", "DeepSeek-V4 has an FP8 cache by default", Basis.OBSERVED)
    if kind == "dsa":
        fp8 = ask("fact:arch") in SM100 | SM120
        return Decided("fp8_e4m3" if fp8 else "bfloat16", "sparse attention: FP8 on Blackwell, BF16 before")
    return Decided("auto", "the type of the model, or what the checkpoint says of its cache")


def page_size(ask: Ask) -> Decided | None:
    """Tokens in a page of the cache."""
    kind = known(ask, "trait:attention")
    if kind == "dsv4":
        return Decided(DSV4_PAGE, "DeepSeek-V4 forces it, whatever is written", Basis.OBSERVED)
    if kind == "dsa":
        return Decided(64, "a model with sparse attention forces it on CUDA, whatever backend runs", Basis.OBSERVED)
    written = ask("written:page_size")
    backend = known(ask, "setting:attention_backend")
    if backend == "triton" and ask("trait:family") in HYBRIDS and ask("fact:arch") in SM100 and since(ask, "0.5.17"):
        return Decided(1, "a recurrent state shares its prefixes token by token", Basis.OBSERVED)
    allowed = PAGES.get(str(backend))
    if allowed and written not in allowed:
        return Decided(max(allowed), f"{backend} allows {' or '.join(map(str, allowed))}", Basis.READ)
    return None if written is not None else Decided(1, "the default", Basis.READ)


def max_running_requests(ask: Ask) -> Decided | None:
    """How many requests run at once."""
    if ask("written:max_running_requests") is not None or known(ask, "trait:attention") != "dsv4":
        return None
    return Decided(256, "DeepSeek-V4's own default", Basis.OBSERVED)


def swa_full_tokens_ratio(ask: Ask) -> Decided | None:
    """How the cache is shared between sliding-window and full layers."""
    if ask("written:swa_full_tokens_ratio") is not None or known(ask, "trait:family") != "deepseek-v4":
        return None
    return Decided(0.1, "DeepSeek-V4's own default", Basis.OBSERVED)


def chunked_prefill_size(ask: Ask) -> Decided | None:
    """Tokens of one prefill chunk on one rank: what is written, divided by the groups of DP attention."""
    written = ask("written:chunked_prefill_size")
    groups = ask("trait:attention_groups")
    if written is None:
        return Decided(by_memory(ask)[0] // groups, "the default for this memory, shared by its groups", Basis.OBSERVED)
    if int(written) <= 0 or groups == 1:
        return None
    return Decided(int(written) // groups, f"divided by {groups} groups of DP attention", Basis.OBSERVED)


def hicache_ratio(ask: Ask) -> Decided | None:
    """Host cache against device cache."""
    if ask("written:hicache_ratio") is not None or not ask("written:enable_hierarchical_cache"):
        return None
    return Decided(2.0, "the default", Basis.OBSERVED)


def hicache_io_backend(ask: Ask) -> Decided | None:
    """How pages move between host and device."""
    if ask("written:hicache_mem_layout") == "page_first_direct" and ask("written:hicache_io_backend") == "kernel":
        return Decided("direct", "the layout page_first_direct needs it", Basis.OBSERVED)
    return None


def hicache_mem_layout(ask: Ask) -> Decided | None:
    """How pages lie in host memory."""
    written = ask("written:hicache_mem_layout")
    if written == "page_first" and ask("written:hicache_io_backend") == "direct":
        return Decided("page_first_direct", "direct transfers need it", Basis.OBSERVED)
    if written == "layer_first" and ask("written:hicache_storage_backend") == "mooncake":
        return Decided("page_first", "mooncake storage needs it", Basis.OBSERVED)
    if written is None:
        return Decided("page_first" if since(ask, "0.5.14") else "layer_first", "the default of this version")
    return None


def disable_radix_cache(ask: Ask) -> Decided | None:
    """Whether prefixes are not shared."""
    decode = ask("written:disaggregation_mode") == "decode"
    if decode and not ask("written:disaggregation_decode_enable_radix_cache"):
        return Decided(True, "a decode server of a disaggregated pair keeps no prefixes", Basis.OBSERVED)
    return None


RESOLVERS: Mapping[str, Resolver] = {
    "kv_cache_dtype": kv_cache_dtype,
    "page_size": page_size,
    "max_running_requests": max_running_requests,
    "swa_full_tokens_ratio": swa_full_tokens_ratio,
    "chunked_prefill_size": chunked_prefill_size,
    "hicache_ratio": hicache_ratio,
    "hicache_io_backend": hicache_io_backend,
    "hicache_mem_layout": hicache_mem_layout,
    "disable_radix_cache": disable_radix_cache,
}
