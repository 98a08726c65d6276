"""Did you mean: the known name that is nearest to a misspelt one."""

from collections.abc import Iterable
from difflib import get_close_matches

# Longer words are no typing mistakes, and comparing them takes long.
_LONGEST = 80


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `word` was probably meant to be, whatever its case, dashes and underscores; or None."""
    by_shape = {_shape(name): name for name in known}
    found = get_close_matches(_shape(word), by_shape, n=1, cutoff=0.6) if len(word) <= _LONGEST else []
    return by_shape[found[0]] if found else None


def _shape(word: str) -> str:
    return word.lower().replace("-", "_")
