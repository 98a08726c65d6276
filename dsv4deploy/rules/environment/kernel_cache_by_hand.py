"""Looks for variables that take the place of the cache folders that `render` keeps apart for each build."""

from typing import Final

from dsv4deploy.model.rule import Ask, Found, known

# Not CUDA_CACHE_PATH: the driver finds its entries by the code that they were made of.
NAMES: Final = (
    "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "SGLANG_DG_CACHE_DIR", "TILELANG_CACHE_DIR",
    "SGLANG_CACHE_DIR",
)  # fmt: skip


def verdict(ask: Ask) -> Found | None:
    """Found if any of them is set for an engine that is known to be patched."""
    if not known(ask, "fact:engine_patched"):
        return None
    named = {f"env:{name}": f"{name}={path}" for name in NAMES if (path := ask(f"written:env:{name}"))}
    return Found(", ".join(named.values()), tuple(named)) if named else None
