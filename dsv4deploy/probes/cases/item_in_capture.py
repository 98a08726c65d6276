"""Does reading a value back to the host with `.item()` end a capture?"""

from typing import Any

from dsv4deploy.probes.capture import captured, operands, warmed, work
from dsv4deploy.probes.case import Case, Here


def _item(here: Here) -> None:
    x, weight, expected = operands(here)
    warmed(here, lambda: work(x, weight))

    def reading() -> Any:
        x.sum().item()
        return work(x, weight)

    captured(here, reading, expected)


CASES = (Case("capture-item", ".item() called in a capture", _item),)
