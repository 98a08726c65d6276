"""Finds the names that somebody may have meant."""

import difflib
from collections.abc import Iterable


def nearest(written: str, known: Iterable[str], count: int = 3, alike: float = 0.75) -> tuple[str, ...]:
    """At most `count` of `known` that look like `written`, the likeliest first.

    Names of which `written` has all parts in another order or with one missing count too (`--max-bs-cuda-graph`).
    """
    names = list(known)
    close = difflib.get_close_matches(written, names, count, alike)
    parts = _parts(written)
    same = [name for name in names if parts and _parts(name) == parts]
    return tuple(dict.fromkeys([*same, *close]))[:count]


def _parts(name: str) -> frozenset[str]:
    return frozenset(part for part in name.lower().replace("_", "-").split("-") if part)
