"""Did you mean: the known names that a misspelt one looks like."""

from collections.abc import Iterable
from difflib import get_close_matches

# Longer words are no typing mistakes, and comparing them takes long.
_LONGEST = 80
_ALIKE = 0.6


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `word` was probably meant to be; None if it looks like none of them."""
    return next(iter(likely(word, known, 1)), None)


def likely(word: str, known: Iterable[str], count: int = 3) -> tuple[str, ...]:
    """At most `count` of `known` that `word` may have been meant to be, the likeliest first.

    Case, dashes and underscores make no difference; nor does the order of parts (`--max-bs-cuda-graph`).
    """
    names = list(known)
    shapes = {_shape(name): name for name in names}
    parts = set(_shape(word).split("-"))
    turned = [name for name in names if set(_shape(name).split("-")) == parts]
    close = get_close_matches(_shape(word), shapes, count, _ALIKE) if len(word) <= _LONGEST else []
    return tuple(dict.fromkeys([*turned, *(shapes[shape] for shape in close)]))[:count]


def _shape(name: str) -> str:
    return name.lower().replace("_", "-").strip("-")
