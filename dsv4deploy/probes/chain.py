"""Walks an exception to its root: `torch.cuda.graph` ends with a follow-up error that hides the cause."""

import re
from collections.abc import Sequence
from typing import Any

# Said by the runtime after another call has already broken the capture; never the cause.
FOLLOW_UP = "cudaErrorStreamCaptureInvalidated"
_LINES = 2
_LONGEST = 420


def chain(error: BaseException | None) -> list[dict[str, Any]]:
    """What was raised, the last first: type, the first lines, CUDA names and number of each."""
    found: list[dict[str, Any]] = []
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        text = str(error).strip()
        lines = [line.strip() for line in text.splitlines()[:_LINES] if line.strip()]
        found.append(
            {
                "type": f"{type(error).__module__}.{type(error).__name__}",
                "message": " / ".join(lines)[:_LONGEST],
                "cuda": sorted(set(re.findall(r"cudaError\w+", text))),
                "number": getattr(error, "error_code", None),
            }
        )
        error = error.__cause__ or error.__context__
    return found


def root(links: Sequence[dict[str, Any]]) -> dict[str, Any] | None:
    """The cause: the earliest CUDA error that is no follow-up, else the earliest exception of all."""
    causes = [link for link in links if link["cuda"] and FOLLOW_UP not in link["cuda"]]
    found = causes or links
    return found[-1] if found else None
