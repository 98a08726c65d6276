"""Does a Triton kernel that tunes itself survive the capture of a CUDA graph?"""

from collections.abc import Callable
from functools import partial

from dsv4deploy.probes.capture import captured, warmed
from dsv4deploy.probes.case import Case, Here

_COUNT = 1 << 20


def _tuned(warm_up: int, here: Here) -> None:
    import torch
    import triton

    from dsv4deploy.probes.kernels import tuned

    here.enter("operands")
    x, y = torch.randn(_COUNT, device=here.device), torch.randn(_COUNT, device=here.device)
    out = torch.empty_like(x)
    kernel = tuned()

    def launch(count: int) -> torch.Tensor:
        kernel[lambda meta: (triton.cdiv(count, meta["BLOCK"]),)](x, y, out, count)
        return out

    torch.cuda.synchronize()
    if warm_up:
        warmed(here, lambda: launch(warm_up))
    captured(here, lambda: launch(_COUNT), x + y)


def _of(warm_up: int) -> Callable[[Here], None]:
    return partial(_tuned, warm_up)


CASES = (
    Case("autotune-first", "a Triton autotuner called for the first time in a capture", _of(0)),
    Case("autotune-warmed", "a Triton autotuner warmed with the key that is captured", _of(_COUNT)),
    Case(
        "autotune-other-key", "a Triton autotuner warmed with another key than the captured one", _of(_COUNT // 2 + 16)
    ),
)
