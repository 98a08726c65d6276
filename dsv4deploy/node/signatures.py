"""The signatures as the node tool uses them: which of them speak on a line.

A signature is a dictionary (one entry of the compiled catalogue, format `signatures/1`):
`id`, `says` (cause, symptom, bare, advice, noise, stop, death), `class`, `lines` and `unless` (lists of
`{"find": text, "match": regex or null}`), `stages`, `over`, `block`, `loud`, `dead`, `final`, and what is told to people
(`title`, `change`, `remedy`, `refute`, `rule`).
"""

from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple  # noqa: UP035 (collections.abc.Iterator cannot be subscripted in Python 3.8)


class Pattern(NamedTuple):
    """One way in which a signature shows: a text that must be there, and a regex that decides."""

    find: str
    match: Any
    owner: int
    refutes: bool


class Catalogue:
    """All signatures, ready to be searched for; order is that of the compiled document."""

    def __init__(self, compiled: dict[str, Any]) -> None:
        self.signatures: list[dict[str, Any]] = compiled["signatures"]
        self._by_find: dict[str, list[Pattern]] = {}
        for number, signature in enumerate(self.signatures):
            for key in ("lines", "unless"):
                for line in signature.get(key) or ():
                    match = re.compile(line["match"]) if line.get("match") else None
                    pattern = Pattern(line["find"], match, number, key == "unless")
                    self._by_find.setdefault(line["find"], []).append(pattern)
        self.finds = tuple(self._by_find)

    def patterns(self, find: str) -> list[Pattern]:
        """The patterns that ask for exactly this text."""
        return self._by_find.get(find, [])

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.signatures[number]


def speaking(patterns: list[Pattern], said: str) -> Iterator[tuple[Pattern, dict[str, str]]]:
    """The patterns that hold on one message, with their named groups."""
    for pattern in patterns:
        if pattern.find not in said:
            continue
        if pattern.match is None:
            yield pattern, {}
            continue
        found = pattern.match.search(said)
        if found:
            yield pattern, {name: value for name, value in found.groupdict().items() if value}
