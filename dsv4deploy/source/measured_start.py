"""What the log of a first start says of memory: it replaces the estimates of the account.

Lines carry the rank (`[2026-11-29 16:56:13 TP0]`), or none where there is one. The least free memory and the largest
weights of all ranks count, because the engine sizes every rank by the least.
"""

import re
from collections import defaultdict
from collections.abc import MutableMapping

from dsv4deploy.model.memory import GIB, Measured

RANK = re.compile(r"^\[[^\]]*?((?:(?:DP|PP|TP|EP|ATTN)\w* ?)*)\]")
BEGIN = re.compile(r"Load weight begin\. avail mem=([\d.]+) GB")
END = re.compile(r"Load weight end\..*mem usage=(-?[\d.]+) GB")
GRAPHS = re.compile(r"Capture .*graph end\..*mem usage=(-?[\d.]+) GB")
POOL_V4 = re.compile(r"DSV4 memory calculation:.*available_bytes=([\d.]+) GB.*full_token=(\d+)")
POOL = re.compile(
    r"KV Cache is allocated\..*#tokens: (\d+), (?:KV size: ([\d.]+) GB|K size: ([\d.]+) GB, V size: ([\d.]+) GB)"
)
# Logs round to 0.01 GB: a smaller pool says too little of the bytes of one token.
LEAST_POOL = 1.0

Found = MutableMapping[str, list[re.Match[str]]]


def measured_start(text: str) -> Measured:
    """The memory terms in the log `text`; what it does not say is None. SGLang 0.5.12 to 0.5.23."""
    found: dict[re.Pattern[str], Found] = defaultdict(lambda: defaultdict(list))
    for line in text.splitlines():
        rank = RANK.match(line)
        for pattern in (BEGIN, END, GRAPHS, POOL_V4, POOL):
            if (match := pattern.search(line)) is not None:
                found[pattern][rank[1].strip() if rank else ""].append(match)
    begins, graphs = _sizes(found[BEGIN]), _sizes(found[GRAPHS])
    # The first line of a rank is the target's, the second that of the draft.
    ends = _sizes(found[END])
    return Measured(
        free_before=_bytes(min((sizes[0] for sizes in begins), default=None)),
        weights=_bytes(max((sizes[0] for sizes in ends), default=None)),
        draft=_bytes(max((sizes[1] for sizes in ends if len(sizes) > 1), default=None)),
        bytes_per_token=_bytes_per_token(found[POOL_V4], found[POOL]),
        graphs=_bytes(max((sum(max(0.0, size) for size in sizes) for sizes in graphs), default=None)),
    )


def _sizes(ranks: Found) -> list[list[float]]:
    """The first number of each line, by rank."""
    return [[float(match[1]) for match in matches] for matches in ranks.values()]


def _bytes(gib: float | None) -> float | None:
    return None if gib is None else gib * GIB


def _bytes_per_token(compressed: Found, plain: Found) -> float | None:
    """Of the first pool that is large enough to tell; DeepSeek-V4 logs its own reckoning."""
    told = [(int(match[2]), float(match[1])) for matches in compressed.values() for match in matches]
    told += [
        (int(match[1]), sum(float(size) for size in match.groups()[1:] if size))
        for matches in plain.values()
        for match in matches
    ]
    return next((gib * GIB / tokens for tokens, gib in told if tokens and gib >= LEAST_POOL), None)
