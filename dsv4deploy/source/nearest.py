"""Finds the names that somebody may have meant."""

import difflib
from collections.abc import Iterable, Sequence

# In a name this short, two slips make another name.
SHORT = 8


def nearest(written: str, known: Iterable[str], count: int = 3, alike: float = 0.75) -> tuple[str, ...]:
    """At most `count` of `known` that look like `written`, the likeliest first.

    Names with the same parts in another order count too (`--max-bs-cuda-graph`).
    """
    names = list(known)
    close = difflib.get_close_matches(written, names, count, alike)
    parts = _parts(written)
    same = [name for name in names if parts and _parts(name) == parts]
    return tuple(dict.fromkeys([*same, *close]))[:count]


def misspelt(written: str, known: Sequence[str]) -> tuple[str, ...]:
    """Those of `known` that are one or two slips of the finger away, or have the same parts; the likeliest first.

    Narrower than `nearest`, for names of which a family has many and everybody may invent more.
    """
    return tuple(name for name in nearest(written, known, alike=0.85) if _slips(written, name))


def _slips(written: str, name: str) -> bool:
    if _parts(written) == _parts(name):
        return True
    # A digit more or less is another variable, not a slip.
    if [c for c in written if c.isdigit()] != [c for c in name if c.isdigit()]:
        return False
    return _distance(written, name) <= (2 if len(name) > SHORT else 1)


def _distance(left: str, right: str) -> int:
    """Insertions, deletions, changes and swaps of neighbours between two names."""
    before: list[int] = []
    row = list(range(len(right) + 1))
    for i, a in enumerate(left, 1):
        older, before, row = before, row, [i]
        for j, b in enumerate(right, 1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (a != b))
            if i > 1 and j > 1 and a == right[j - 2] and left[i - 2] == b:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
    return row[-1]


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in name.lower().replace("_", "-").split("-") if part)
