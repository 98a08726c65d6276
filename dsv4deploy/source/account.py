"""The account of a launch file: what was understood as what, what was not, and that nothing is missing."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from dsv4deploy.model.imported import Command, Piece, Remainder
from dsv4deploy.model.place import Place
from dsv4deploy.source.bits import Source


@dataclass(slots=True)
class Account:
    """Collects while a file is read."""

    commands: list[Command] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    remainder: list[Remainder] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    _covered: dict[Source, list[tuple[int, int]]] = field(default_factory=dict)

    def piece(self, source: Source, start: int, end: int, role: str) -> None:
        """Bytes `start` to `end` are understood as `role`."""
        self._cover(source, start, end)
        self.pieces.append(Piece(source.place(start, end), role))

    def leave(self, source: Source, start: int, end: int, reason: str) -> None:
        """Bytes `start` to `end` are not understood, or have no place in a profile."""
        self._cover(source, start, end)
        self.remainder.append(Remainder(source.text(start, end), source.place(start, end), reason))

    def leave_word(self, text: str, place: Place, reason: str) -> None:
        """A word inside an understood range is not."""
        self.remainder.append(Remainder(text, place, reason))

    def opened(self, source: Source) -> None:
        """Every character of `source` will have to be accounted for."""
        self._covered.setdefault(source, [])

    def close(self) -> None:
        """Whatever no piece and no remainder holds becomes a remainder."""
        for source, ranges in list(self._covered.items()):
            for start, end in _gaps(source.data, ranges):
                self.leave(source, start, end, "no meaning for the launch is known")
        self.remainder.sort(key=lambda left: left.place)

    def _cover(self, source: Source, start: int, end: int) -> None:
        self._covered.setdefault(source, []).append((start, end))


def _gaps(data: bytes, ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """The runs outside `ranges` that hold more than blanks and line continuations, each within one line."""
    gaps = []
    at = 0
    for start, end in [*sorted(ranges), (len(data), len(data))]:
        offset = at
        for line in data[at:start].split(b"\n") if start > at else ():
            text = line.strip()
            if text and text != b"\\":
                begin = offset + line.index(text)
                gaps.append((begin, begin + len(text)))
            offset += len(line) + 1
        at = max(at, end)
    return gaps
