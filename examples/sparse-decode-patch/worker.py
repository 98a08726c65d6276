"""One run of the example's kernel in a process of its own; prints one line of JSON at the end.

worker.py check     errors against float64 and the time of one call
worker.py capture   the hazard: an autotuned kernel whose first call is inside a CUDA graph capture
worker.py warmed    the remedy: the same capture after one call outside
"""

import json
import os
import statistics
import sys

import sparse_decode
import torch
import triton
from sparse_decode.decode import LATENT, WIDTH

BATCH, HEADS, TOKENS, CHOSEN = 32, 64, 131_072, 2048
SCALE = WIDTH**-0.5


def inputs(batch: int = BATCH, heads: int = HEADS, chosen: int = CHOSEN) -> tuple[torch.Tensor, ...]:
    """Random queries, cache and choice of tokens; some places of the choice are empty."""
    generator = torch.Generator(device="cuda").manual_seed(7)
    q = torch.randn((batch, heads, WIDTH), generator=generator, device="cuda").to(torch.bfloat16)
    kv = torch.randn((TOKENS, WIDTH), generator=generator, device="cuda").to(torch.bfloat16)
    indices = torch.randint(0, TOKENS, (batch, chosen), generator=generator, device="cuda", dtype=torch.int32)
    indices[:, chosen - chosen // 8 :] = -1
    return q, kv, indices


def errors(batch: int, heads: int, chosen: int) -> dict[str, float]:
    """How far the kernel is from float64."""
    q, kv, indices = inputs(batch, heads, chosen)
    wanted = sparse_decode.reference(q, kv, indices, SCALE, LATENT)
    got = sparse_decode.sparse_decode(q, kv, indices, SCALE).double()
    difference = got - wanted
    return {
        "batch": batch,
        "heads": heads,
        "chosen": chosen,
        "relative": float(difference.norm() / wanted.norm()),
        "largest": float(difference.abs().max() / wanted.abs().max()),
        "finite": bool(torch.isfinite(got).all()),
    }


def microseconds(calls: int = 50, repeats: int = 5) -> list[float]:
    """Time of one call by CUDA events, one number a repeat."""
    q, kv, indices = inputs()
    for _ in range(5):
        sparse_decode.sparse_decode(q, kv, indices, SCALE)
    torch.cuda.synchronize()
    found = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            sparse_decode.sparse_decode(q, kv, indices, SCALE)
        end.record()
        torch.cuda.synchronize()
        found.append(begin.elapsed_time(end) * 1000 / calls)
    return found


def check() -> dict[str, object]:
    """Errors at three shapes, and the time."""
    shapes = [(BATCH, HEADS, CHOSEN), (3, 20, 200), (1, 16, 2048)]
    times = microseconds()
    return {
        "errors": [errors(*shape) for shape in shapes],
        "microseconds": statistics.median(times),
        "all_microseconds": times,
    }


def capture(*, warmed: bool) -> dict[str, object]:
    """Capture one call in a CUDA graph, and see whether a replay gives the right result."""
    q, kv, indices = inputs(4, HEADS, 512)
    wanted = sparse_decode.reference(q, kv, indices, SCALE, LATENT)
    if warmed:
        sparse_decode.sparse_decode(q, kv, indices, SCALE)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph):
            out = sparse_decode.sparse_decode(q, kv, indices, SCALE)
        graph.replay()
        torch.cuda.synchronize()
    except Exception as error:  # noqa: BLE001 (whatever the driver says is the finding)
        return {"captured": False, "error": f"{type(error).__name__}: {str(error).splitlines()[0]}"}
    relative = float((out.double() - wanted).norm() / wanted.norm())
    return {"captured": True, "relative": relative, "error": None}


def main() -> None:
    """Run what the first word says."""
    what = sys.argv[1]
    found = check() if what == "check" else capture(warmed=what == "warmed")
    told = {
        "kernel": sparse_decode.kernel(),
        "module": sparse_decode.decode.__file__,
        "card": torch.cuda.get_device_name(),
        "capability": list(torch.cuda.get_device_capability()),
        "torch": torch.__version__,
        "triton": triton.__version__,
    }
    print(json.dumps({**told, **found}), flush=True)
    # A capture that failed may leave the driver in a state that hangs or complains at exit; the finding is out.
    os._exit(0)


if __name__ == "__main__":
    main()
