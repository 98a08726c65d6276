"""The account of a launch file: what was understood as what, what was not, and that nothing is missing."""

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass, field

from dsv4deploy.model.imported import Command, Imported, Piece, Remainder
from dsv4deploy.model.place import Place
from dsv4deploy.source.bash.bits import Inner, Source


@dataclass(slots=True)
class Account:
    """Collects while a file is read.

    `beside` is the folder that further files are looked for in; `covered` are the ranges that are accounted for,
    `asked` the variables that some word asks for, `reached` those that some program gets.
    """

    commands: list[Command] = field(default_factory=list)
    pieces: list[Piece] = field(default_factory=list)
    remainder: list[Remainder] = field(default_factory=list)
    beside: str = ""
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    reached: set[str] = field(default_factory=set)
    bodies: dict[str, tuple[Source, int, int]] = field(default_factory=dict)
    calls: set[str] = field(default_factory=set)
    doubtful_calls: set[str] = field(default_factory=set)
    covered: dict[Source, list[tuple[int, int]]] = field(default_factory=dict)
    _assigned: list[tuple[str, Remainder]] = field(default_factory=list)

    def piece(self, source: Source, start: int, end: int, role: str) -> None:
        """Bytes `start` to `end` are understood as `role`."""
        self._cover(source, start, end)
        self.pieces.append(Piece(source.place(start, end), role))

    def leave(self, source: Source, start: int, end: int, reason: str) -> None:
        """Bytes `start` to `end` are not understood, or have no place in a profile."""
        self._cover(source, start, end)
        self.remainder.append(Remainder(source.text(start, end), source.place(start, end), reason))

    def adopt(self, doubtful: "Account", reason: str) -> None:
        """Take over what was read under a condition: what it starts is listed, what it says is not certain."""
        self.commands += doubtful.commands
        self.bodies |= doubtful.bodies
        self.doubtful_calls |= doubtful.calls | doubtful.doubtful_calls
        for source in doubtful.covered.keys() - self.covered.keys():
            self.leave(source, 0, len(source.data), reason)

    def leave_word(self, text: str, place: Place, reason: str, variable: str = "") -> None:
        """A word inside an understood range is not."""
        self.remainder.append(Remainder(text, place, reason, variable))

    def opened(self, source: Source) -> None:
        """Every character of `source` will have to be accounted for."""
        self.covered.setdefault(source, [])
        if not isinstance(source, Inner):
            self.show(source.file, source.text(0, len(source.data)))

    def show(self, file: str, text: str) -> None:
        """A file was read; places can point into it."""
        self.sources.setdefault(file, tuple(text.split("\n")))

    def named(self, path: str) -> str:
        """How the user would name a file that the launch file names `path`."""
        return posixpath.normpath(posixpath.join(self.beside, path))

    def defined(self, function: str, source: Source, start: int, end: int) -> None:
        """A function has its body in bytes `start` to `end`; it counts for nothing until it is called."""
        self.bodies[function] = (source, start, end)

    def called(self, function: str) -> None:
        """A function is called, and what its body says is read there."""
        self.calls.add(function)

    def assigned(self, name: str, source: Source, start: int, end: int) -> None:
        """A variable is set; should nothing use or export it, that is worth telling."""
        reason = f"{name} is not exported and nothing here uses it: the engine does not get it"
        self._assigned.append((name, Remainder(source.text(start, end), source.place(start, end), reason, name)))

    def imported(self, file: str, kind: str) -> Imported:
        """The finished account; whatever no piece and no remainder holds becomes a remainder."""
        for name, (source, start, end) in self.bodies.items():
            if name not in self.calls:
                how = "only under a condition" if name in self.doubtful_calls else "nowhere"
                self.leave(source, start, end, f"the function {name} is called {how}")
        for source, ranges in list(self.covered.items()):
            for start, end in _gaps(source.data, ranges):
                self.leave(source, start, end, "no meaning for the launch is known")
        idle = [left for name, left in self._assigned if name not in self.asked | self.reached]
        remainder = tuple(sorted([*self.remainder, *idle], key=lambda left: left.place))
        return Imported(file, kind, tuple(self.commands), tuple(self.pieces), remainder, self.sources)

    def _cover(self, source: Source, start: int, end: int) -> None:
        self.covered.setdefault(source, []).append((start, end))


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
