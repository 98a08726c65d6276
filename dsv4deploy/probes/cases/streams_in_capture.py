"""Do side streams that enter or leave a capture the wrong way end it, and with which error?"""

from typing import Any

from dsv4deploy.probes.capture import captured, operands, warmed, work
from dsv4deploy.probes.case import Case, Here


def _isolation(here: Here) -> None:
    """Wait in the capture for work that was put on another stream before it."""
    import torch

    x, weight, expected = operands(here)
    side = torch.cuda.Stream()
    warmed(here, lambda: work(x, weight))
    with torch.cuda.stream(side):
        work(x, weight)

    def joined() -> Any:
        torch.cuda.current_stream().wait_stream(side)
        return work(x, weight)

    captured(here, joined, expected)


def _unjoined(here: Here) -> None:
    """Fork a stream in the capture and never join it."""
    import torch

    x, weight, expected = operands(here)
    side = torch.cuda.Stream()
    warmed(here, lambda: work(x, weight))

    def forked() -> Any:
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            return work(x, weight)

    captured(here, forked, expected)


CASES = (
    Case(
        "capture-isolation",
        "a capture that waits for uncaptured work on another stream",
        _isolation,
        rules=("torch-compile-in-capture-dsv4",),
    ),
    Case("capture-unjoined", "a capture whose side stream is never joined", _unjoined),
)
