"""Triton kernels of the probes; imported only where Triton is."""

from typing import Any

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, count, BLOCK: tl.constexpr):
    """Out = x + y."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(x + at, mask=inside) + tl.load(y + at, mask=inside), mask=inside)


@triton.jit
def copy(source, out, count, BLOCK: tl.constexpr):
    """Out = source; `out` may be the memory of another card."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = at < count
    tl.store(out + at, tl.load(source + at, mask=inside), mask=inside)


def tuned() -> Any:
    """A new autotuner of `add` over four configurations, keyed by the count."""
    configurations = [triton.Config({"BLOCK": block}, num_warps=w) for block in (256, 1024) for w in (4, 8)]
    return triton.autotune(configs=configurations, key=["count"])(add)
