"""Did you mean: the known names that a misspelt one looks like."""

from collections.abc import Iterable, Sequence

# Longer words are no typing mistakes, and comparing them takes long.
_LONGEST = 80
_ALIKE = 0.6
# In a name this short, two slips make another name.
_SHORT = 8


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The one of `known` that `word` was probably meant to be; None if it looks like none of them."""
    return next(iter(likely(word, known, 1)), None)


def likely(word: str, known: Iterable[str], count: int = 3, alike: float = _ALIKE) -> tuple[str, ...]:
    """At most `count` of `known` that `word` may have been meant to be, the likeliest first.

    Case, dashes and underscores make no difference; nor does the order of parts (`--max-bs-cuda-graph`).
    """
    from difflib import get_close_matches  # noqa: PLC0415 (only for what is wrong, and a check starts fast)

    names = list(known)
    shapes = {_shape(name): name for name in names}
    turned = [name for name in names if _parts(name) == _parts(word)]
    close = get_close_matches(_shape(word), shapes, count, alike) if len(word) <= _LONGEST else []
    return tuple(dict.fromkeys([*turned, *(shapes[shape] for shape in close)]))[:count]


def misspelt(written: str, known: Sequence[str]) -> tuple[str, ...]:
    """Those of `known` that are one or two slips of the finger away, or have the same parts; the likeliest first.

    Narrower than `likely`, for names of which a family has many and everybody may invent more.
    """
    return tuple(name for name in likely(written, known, alike=0.85) if _slips(written, name))


def _slips(written: str, name: str) -> bool:
    if _parts(written) == _parts(name):
        return True
    # A digit more or less is another variable, not a slip.
    if [c for c in written if c.isdigit()] != [c for c in name if c.isdigit()]:
        return False
    return _distance(written, name) <= (2 if len(name) > _SHORT else 1)


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
    return frozenset(_shape(name).split("-"))


def _shape(name: str) -> str:
    return name.lower().replace("_", "-").strip("-")
