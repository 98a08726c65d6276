"""Does `torch.compile` in each mode survive the capture of a CUDA graph after a warm-up?"""

from collections.abc import Callable
from functools import partial

from dsv4deploy.probes.capture import captured, operands, warmed, work
from dsv4deploy.probes.case import Case, Here


def _compiled(mode: str, rows: int, here: Here) -> None:
    import torch

    x, weight, expected = operands(here)
    function = torch.compile(work, dynamic=False, mode=mode)
    other = x[:rows].contiguous()
    warmed(here, lambda: function(other, weight))
    captured(here, lambda: function(x, weight), expected)


def _of(mode: str, rows: int = 64) -> Callable[[Here], None]:
    return partial(_compiled, mode, rows)


CASES = (
    Case(
        "compile-default",
        "torch.compile in mode default, warmed, then captured",
        _of("default"),
    ),
    Case(
        "compile-reduce-overhead",
        "torch.compile in mode reduce-overhead, warmed, then captured",
        _of("reduce-overhead"),
        rules=("torch-compile-mode-with-cudagraphs",),
    ),
    Case(
        "compile-max-autotune-no-cudagraphs",
        "torch.compile in SGLang's own mode, warmed, then captured",
        _of("max-autotune-no-cudagraphs"),
    ),
    Case(
        "compile-max-autotune",
        "torch.compile in mode max-autotune, warmed, then captured",
        _of("max-autotune"),
        rules=("torch-compile-mode-with-cudagraphs",),
    ),
    Case(
        "compile-other-batch",
        "torch.compile in SGLang's own mode, warmed at another batch size than the captured one",
        _of("max-autotune-no-cudagraphs", 32),
    ),
)
