"""The signatures as the node tool uses them: which of them speak on a line.

A signature is a dictionary (one entry of the compiled catalogue, format `signatures/1`):
`id`, `says` (cause, symptom, bare, advice, noise, stop, death), `class`, `lines` and `unless` (lists of
`{"find": text or texts, "match": regex or null, "raised": bool}`), `stages`, `over`, `block`, `loud`, `dead`, `final`, and what is told to people
(`title`, `change`, `remedy`, `refute`, `rule`).
"""

from __future__ import annotations

import re
from typing import Any, Iterator, NamedTuple

from dsv4deploy.node.search import Search
from dsv4deploy.node.stages import HINTS, MARKS


class Pattern(NamedTuple):
    """One way in which a signature shows: a text that must be there, and a regex that decides."""

    finds: tuple[str, ...]
    match: Any
    owner: int
    refutes: bool
    raised: bool


class Catalogue:
    """All signatures, ready to be searched for; order is that of the compiled document."""

    def __init__(self, compiled: dict[str, Any]) -> None:
        self.signatures: list[dict[str, Any]] = compiled["signatures"]
        self._by_find: dict[str, list[Pattern]] = {}
        for number, signature in enumerate(self.signatures):
            for key in ("lines", "unless"):
                for line in signature.get(key) or ():
                    match = re.compile(line["match"]) if line.get("match") else None
                    finds = (line["find"],) if isinstance(line["find"], str) else tuple(line["find"])
                    pattern = Pattern(finds, match, number, key == "unless", bool(line.get("raised")))
                    for find in finds:
                        self._by_find.setdefault(find, []).append(pattern)
        self.finds = tuple(self._by_find)
        self.search = Search((*self.finds, *(mark[0] for mark in MARKS), *(hint[0] for hint in HINTS)))

    def patterns(self, find: str) -> list[Pattern]:
        """The patterns that ask for exactly this text."""
        return self._by_find.get(find, [])

    def __getitem__(self, number: int) -> dict[str, Any]:
        return self.signatures[number]


def speaking(patterns: list[Pattern], said: str, raised: bool) -> Iterator[tuple[Pattern, dict[str, str]]]:
    """The patterns that hold on one message, with their named groups; `raised`: it can be the text of an exception."""
    for pattern in patterns:
        if pattern.raised and not raised:
            continue
        if pattern.match is None:
            yield pattern, {}
            continue
        found = pattern.match.search(said)
        if found:
            yield pattern, {name: value for name, value in found.groupdict().items() if value}
