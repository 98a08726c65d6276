"""The signatures as the node tool uses them: which of them speak on a line.

A signature is a dictionary (one entry of the compiled catalogue, format `signatures/1`):
`id`, `says` (cause, symptom, bare, advice, noise, stop, death), `class`, `lines` and `unless` (lists of
`{"find": text or texts, "match": regex or null, "raised": bool}`), `stages`, `over`, `block`, `loud`, `dead`, `final`, and what is told to people
(`title`, `change`, `remedy`, `refute`, `rules`).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any, NamedTuple

from dsv4deploy.node.search import Search
from dsv4deploy.node.stages import HINTS, JOINED, MARKS, OTHERS


class Pattern(NamedTuple):
    """One way in which a signature shows: texts of which one must be there, and a regex that decides."""

    finds: tuple[str, ...]
    match: str | None
    owner: int
    raised: bool

    def holds(self, said: str) -> dict[str, str] | None:
        """The named groups if it holds on what was said, else None."""
        if self.match is None:
            return {} if any(find in said for find in self.finds) else None
        found = _regex(self.match).search(said)
        return {name: value for name, value in found.groupdict().items() if value} if found else None


class Catalogue:
    """All signatures, ready to be searched for; order is that of the compiled document."""

    def __init__(self, compiled: dict[str, Any]) -> None:
        self.signatures: list[dict[str, Any]] = compiled["signatures"]
        self._by_find: dict[str, list[Pattern]] = {}
        self._unless: dict[int, list[Pattern]] = {}
        for owner, signature in enumerate(self.signatures):
            self._unless[owner] = [_pattern(line, owner) for line in signature.get("unless") or ()]
            for pattern in (_pattern(line, owner) for line in signature["lines"]):
                for find in pattern.finds:
                    self._by_find.setdefault(find, []).append(pattern)
        self.finds = tuple(self._by_find)
        self.search = Search(
            (*self.finds, *(known[0] for known in (*MARKS, *HINTS, *OTHERS)), *JOINED, "Started "),
            compiled.get("gates"),
        )

    def __getitem__(self, owner: int) -> dict[str, Any]:
        return self.signatures[owner]

    def of_class(self, kind: str) -> dict[str, Any]:
        """The first signature of a class: what is known of it when no line showed it."""
        return next(signature for signature in self.signatures if signature.get("class") == kind)

    def heard(self, said: str, raised: bool) -> dict[int, dict[str, str]]:
        """The signatures that speak on one message, with named groups; `raised`: it can be the text of an exception."""
        found: dict[int, dict[str, str]] = {}
        for find in self.search.inside(said):
            for pattern in self._by_find.get(find, ()):
                if pattern.owner in found or (pattern.raised and not raised):
                    continue
                groups = pattern.holds(said)
                if groups is not None:
                    found[pattern.owner] = groups
        return found

    def refuted(self, owner: int, lines: list[str]) -> bool:
        """Whether one of the newest lines of the log speaks against the signature."""
        return any(pattern.holds(line) is not None for pattern in self._unless[owner] for line in lines)


def _pattern(line: dict[str, Any], owner: int) -> Pattern:
    finds = (line["find"],) if isinstance(line["find"], str) else tuple(line["find"])
    return Pattern(finds, line.get("match"), owner, bool(line.get("raised")))


@lru_cache(maxsize=None)
def _regex(match: str) -> re.Pattern[str]:
    """Compiled when a text of the pattern was seen: a start that goes well needs few of hundreds."""
    return re.compile(match)
