"""The releases we know, the arguments that were renamed between them, and comparing versions."""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from packaging.specifiers import SpecifierSet
from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask, Missing

RELEASES: Final = (
    "0.5.6", "0.5.6.post1", "0.5.6.post2", "0.5.7", "0.5.8", "0.5.8.post1", "0.5.9", "0.5.10", "0.5.10.post1", "0.5.11", "0.5.12",
    "0.5.12.post1", "0.5.13", "0.5.13.post1", "0.5.14", "0.5.15", "0.5.15.post1", "0.5.16", "0.5.17", "0.5.18",
    "0.5.19", "0.5.20", "0.5.21", "0.5.22", "0.5.23",
)  # fmt: skip
# Where one argument has had several names: effective settings and rules use the newest.
RENAMED: Final = {
    "cuda_graph_max_bs": "cuda_graph_max_bs_decode",
    "cuda_graph_bs": "cuda_graph_bs_decode",
    "piecewise_cuda_graph_max_tokens": "cuda_graph_max_bs_prefill",
    "piecewise_cuda_graph_tokens": "cuda_graph_bs_prefill",
    "piecewise_cuda_graph_compiler": "cuda_graph_tc_compiler",
    "nsa_prefill_backend": "dsa_prefill_backend",
    "nsa_decode_backend": "dsa_decode_backend",
    "nsa_prefill_cp_mode": "dsa_prefill_cp_mode",
    "mamba_scheduler_strategy": "mamba_radix_cache_strategy",
    "enable_gdn_replayssm_spec": "enable_linear_replayssm_spec",
    "speculative_dflash_draft_window_size": "speculative_draft_window_size",
}
# Flags that are not called as their dest.
FLAGS: Final = {"fp8_gemm_runner_backend": "--fp8-gemm-backend", "fp4_gemm_runner_backend": "--fp4-gemm-backend"}
NEWEST_NAME: Mapping[str, str] = RENAMED
SPELLINGS: Mapping[str, tuple[str, ...]] = {new: (new, old) for old, new in RENAMED.items()}


@lru_cache(maxsize=512)
def version(text: str) -> Version | None:
    """`text` as a version, build tags and a trailing remark left out (`2.9.1+cu128`); None if it is none."""
    try:
        return Version(text.strip().split(" ")[0].split("+")[0])
    except InvalidVersion:
        return None


@lru_cache(maxsize=512)
def within(text: str, specifier: str, needs: str = "engine_version") -> bool:
    """Whether the version `text` lies in the range `specifier`.

    Raises:
        Missing: `text` is no version; it names `needs`.
    """
    number = version(text)
    if number is None:
        raise Missing(needs)
    return SpecifierSet(specifier).contains(number, prereleases=True)


def since(ask: Ask, release: str) -> bool:
    """Whether the engine is `release` or newer.

    Raises:
        Missing: its version is not known.
    """
    return within(ask("fact:engine_version"), f">={release}")
