"""Does device memory taken by another thread end a capture?"""

import threading
from typing import Any

from dsv4deploy.probes.capture import captured, operands, warmed, work
from dsv4deploy.probes.case import Case, Here

# More than the caching allocator has at hand, so that the driver is asked.
_BYTES = 3 << 30


def _allocation(here: Here) -> None:
    import torch

    x, weight, expected = operands(here)
    warmed(here, lambda: work(x, weight))
    heard: list[str] = []

    def other() -> None:
        try:
            torch.empty(_BYTES, dtype=torch.uint8, device=here.device)
        except RuntimeError as error:
            heard.append(str(error).splitlines()[0])

    def allocating() -> Any:
        result = work(x, weight)
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        return result

    try:
        captured(here, allocating, expected)
    finally:
        here.note(other_thread=heard[0] if heard else "allocated")


CASES = (Case("capture-other-thread", "another thread takes device memory during a capture", _allocation),)
