"""What the cases about CUDA graph capture share: work, warm-up, and a capture that is replayed and compared."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from dsv4deploy.probes.case import Here, WrongError

_ROWS, _COLUMNS = 64, 1024
# bfloat16 keeps 8 bits; sums of 1024 products in another order stay well below this.
_TOLERANCE = 2e-2


def work(x: Any, weight: Any) -> Any:
    """A product and some pointwise work, as a layer has it."""
    import torch

    return torch.nn.functional.silu(x @ weight) * 2 + torch.softmax(x, -1)


def operands(here: Here) -> tuple[Any, Any, Any]:
    """Input [64, 1024], weight [1024, 1024] in bfloat16, and what `work` makes of them eagerly."""
    import torch

    here.enter("operands")
    torch.manual_seed(0)
    x = torch.randn(_ROWS, _COLUMNS, device=here.device, dtype=torch.bfloat16)
    weight = torch.randn(_COLUMNS, _COLUMNS, device=here.device, dtype=torch.bfloat16) / 32
    expected = work(x, weight)
    torch.cuda.synchronize()
    return x, weight, expected


def warmed(here: Here, function: Callable[[], Any], times: int = 3) -> None:
    """Call `function` on a side stream before the capture, as engines do."""
    import torch

    here.enter("warm-up")
    began = time.monotonic()
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(times):
            function()
    torch.cuda.current_stream().wait_stream(side)
    torch.cuda.synchronize()
    here.note(warm_s=round(time.monotonic() - began, 2))


def captured(here: Here, function: Callable[[], Any], expected: Any) -> None:
    """Capture `function`, replay the graph, and compare with what is expected.

    Raises:
        WrongError: the replayed result is another one.
    """
    import torch

    here.enter("capture")
    began = time.monotonic()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = function()
        here.enter("capture-end")
    here.note(capture_s=round(time.monotonic() - began, 3))
    here.enter("replay")
    graph.replay()
    torch.cuda.synchronize()
    compared(here, result, expected, "replayed")


def compared(here: Here, result: Any, expected: Any, how: str) -> None:
    """Note how far the result that was come to in the way `how` is from the expected one.

    Raises:
        WrongError: further than rounding explains.
    """
    error = float((result.float() - expected.float()).norm() / expected.float().norm())
    here.note(relative_error=float(f"{error:.2g}"))
    if not error < _TOLERANCE:
        raise WrongError(f"the {how} result is off by {error:.3g} of its norm")


def usable(here: Here) -> None:
    """Note whether the card still works in this process after what happened."""
    import torch

    alive = False
    with suppress(Exception):
        alive = bool(torch.ones(_ROWS, device=here.device).sum() == _ROWS)
    here.note(usable_after=alive)
