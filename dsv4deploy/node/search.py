"""Searches a text for a thousand fixed strings at once, fast where none of them stands."""

from __future__ import annotations

import re
from collections import Counter
from typing import Iterator

# Nearly all of a long log is lines like these; what stands in them tells nothing.
ROUTINE = """\
[2026-11-29 17:04:10 TP0] Decode batch, #running-req: 12, #token: 64000, #full token: 0, swa token usage: 0.21, \
token usage: 0.21, accept len: 2.31, accept rate: 0.66, cuda graph: True, gen throughput (token/s): 431.20, #queue-req: 0
[2026-11-29 17:04:11 DP0 TP1 EP2] Prefill batch, #new-seq: 1, #new-token: 512, #cached-token: 0, token usage: 0.20, \
#running-req: 11, #queue-req: 0, #pending-token: 0, input throughput (token/s): 3.10
[2026-11-29 17:04:11] INFO:     127.0.0.1:40112 - "POST /v1/chat/completions HTTP/1.1" 200 OK
[2026-11-29 17:04:12] INFO:     127.0.0.1:40114 - "GET /health HTTP/1.1" 200 OK
"""
_GRAM = 4
# Whole runs of such lines are stepped over. A decode line in which nothing was accepted is not routine.
_RUN = re.compile(
    r"(?:^\[20[^\]\n]*\] (?:(?:Decode|Prefill) batch(?![^\n]*accept len: 1\.0)"
    r"|INFO: +[\d.:]+ - \"(?:GET|POST) [^\n\"]* HTTP/1\.[01]\" 200 OK$)[^\n]*\n)+",
    re.MULTILINE,
)


class Search:
    """Knows a few short pieces (gates) of which every string holds one; where no gate stands, no string can."""

    def __init__(self, finds: tuple[str, ...], gates: list[tuple[str, list[str]]] | None = None) -> None:
        """`gates` are those that were found before for the same strings; finding them takes a while."""
        self.gates = gates if gates is not None else _gates(tuple(dict.fromkeys(finds)))

    def inside(self, text: str) -> Iterator[str]:
        """The strings that stand in `text`."""
        for gate, finds in self.gates:
            if gate in text:
                for find in finds:
                    if find in text:
                        yield find

    def places(self, text: str, lines_from: int = 0) -> set[int]:
        """For every string, where it stands first in each line that holds it; whole lines begin at `lines_from`."""
        places: set[int] = set()
        start = 0
        for run in _RUN.finditer(text, lines_from):
            places |= self._between(text, start, run.start())
            start = run.end()
        return places | self._between(text, start, len(text))

    def _between(self, text: str, start: int, stop: int) -> set[int]:
        places = set()
        for find in self.inside(text[start:stop]):
            at = text.find(find, start, stop)
            while at >= 0:
                places.add(at)
                end = text.find("\n", at, stop)
                at = text.find(find, end, stop) if end >= 0 else -1
        return places


def _gates(finds: tuple[str, ...]) -> list[tuple[str, list[str]]]:
    """Cover the strings with as few pieces as a greedy choice needs, none of which stands in a routine line."""
    pieces = {find: _pieces(find) for find in finds}
    open_finds = {find for find in finds if pieces[find]}
    gates = [(find, [find]) for find in finds if not pieces[find]]
    while open_finds:
        counted = Counter(piece for find in sorted(open_finds) for piece in pieces[find])
        best = max(counted, key=lambda piece: (counted[piece], piece))
        covered = sorted(find for find in open_finds if best in pieces[find])
        gates.append((best, covered))
        open_finds.difference_update(covered)
    return gates


def _pieces(find: str) -> set[str]:
    grams = {find[at : at + _GRAM] for at in range(len(find) - _GRAM + 1)}
    return {gram for gram in grams if gram not in ROUTINE}
