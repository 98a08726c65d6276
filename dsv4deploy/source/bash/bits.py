"""Texts with places, and the fragments that shell words are made of."""

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

from dsv4deploy.model.imported import Sure, Word
from dsv4deploy.model.place import Place

BLANKS = " \t\n"
NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
PATTERN = frozenset("*?[")
_ORDER = tuple(Sure)


class Source:
    """One named text as bytes, and the places in it."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        # A file saved with Windows line ends; a single one can be meant, inside quotes.
        self.has_carriage_returns = 0 < text.count("\n") == text.count("\r\n")
        text = text.replace("\r\n", "\n") if self.has_carriage_returns else text
        self.data = text.encode("utf-8", "surrogateescape")
        self._is_ascii = text.isascii()

    @cached_property
    def _starts(self) -> list[int]:
        return [0, *(at + 1 for at, byte in enumerate(self.data) if byte == ord("\n"))]

    def place(self, start: int, end: int) -> Place:
        """The place of the bytes `start` to `end`."""
        return Place(self.file, *self._position(start), *self._position(end))

    def text(self, start: int, end: int) -> str:
        """The characters from byte `start` to byte `end`."""
        return self.data[start:end].decode("utf-8", "surrogateescape")

    def _position(self, at: int) -> tuple[int, int]:
        line = bisect_right(self._starts, at)
        start = self._starts[line - 1]
        return line, (at - start if self._is_ascii else len(self.text(start, at))) + 1


class Inner(Source):
    """A text inside another one, as the script in `bash -c '...'`; its places are those of the outer text."""

    def __init__(self, bits: "Sequence[Bit]") -> None:
        super().__init__(bits[0].source.file if bits else "", "".join(bit.text for bit in bits))
        self._bits = bits

    def place(self, start: int, end: int) -> Place:
        first, last = self._bits[0], self._bits[-1]
        if len(self._bits) == 1 and first.exact:
            return first.source.place(first.start + start, first.start + end)
        return first.source.place(first.start, max(first.end, last.end))


@dataclass(frozen=True, slots=True)
class Bit:
    """A fragment of a word.

    Attributes:
        text: its characters; for a hole, how it was written.
        source, start, end: where it was written; `exact` if its characters are those bytes one by one.
        quoted: neither split nor taken as a pattern.
        split: the result of an unquoted expansion, which blanks divide into words.
        hole: the name of what is not known; empty for a fragment that is.
        ends: a boundary between two words, as in `"${ARGS[@]}"`.
    """

    text: str
    source: Source
    start: int
    end: int
    exact: bool = True
    quoted: bool = False
    split: bool = False
    sure: Sure = Sure.LITERAL
    hole: str = ""
    ends: bool = False

    @classmethod
    def unknown(cls, name: str, source: Source, start: int, end: int, *, quoted: bool = True, text: str = "") -> "Bit":
        """A hole called `name`; `text` is how it was written, if not as those bytes."""
        written = text or source.text(start, end)
        return cls(written, source, start, end, exact=False, quoted=quoted, sure=Sure.UNKNOWN, hole=name)

    @classmethod
    def made(cls, text: str, source: Source, start: int, end: int, *, quoted: bool = True) -> "Bit":
        """A text that those bytes stand for without being it."""
        return cls(text, source, start, end, exact=False, quoted=quoted, split=not quoted, sure=Sure.ASSIGNED)

    def part(self, start: int, end: int) -> "Bit":
        """The characters `start` to `end` of it."""
        if not self.exact:
            return replace(self, text=self.text[start:end])
        offset = self.start + len(self.text[:start].encode("utf-8", "surrogateescape"))
        text = self.text[start:end]
        return replace(self, text=text, start=offset, end=offset + len(text.encode("utf-8", "surrogateescape")))


Bits = tuple[Bit, ...]


def is_many(bit: Bit) -> bool:
    """Whether it stands for the items of an array, nobody knows how many."""
    return "[@]" in bit.hole


def weaker(bits: Iterable[Bit], sure: Sure) -> Bits:
    """The same bits, known no better than `sure`."""
    return tuple(bit if _ORDER.index(bit.sure) >= _ORDER.index(sure) else replace(bit, sure=sure) for bit in bits)


def plain(bits: Iterable[Bit]) -> str | None:
    """Their text, or None if something in it is not known."""
    found = tuple(bits)
    return None if any(bit.hole for bit in found) else "".join(bit.text for bit in found)


def fields(bits: Iterable[Bit]) -> list[Bits]:
    """The words that bash makes of one word as written: none, one, or several."""
    found: list[list[Bit]] = []
    current: list[Bit] | None = None
    for bit in _divided(bits):
        if bit.ends:
            found += [current] if current is not None else []
            current = None
        else:
            current = [*(current or []), bit]
    found += [current] if current is not None else []
    return [tuple(word) for word in found]


def _divided(bits: Iterable[Bit]) -> Iterator[Bit]:
    for bit in bits:
        if not bit.split or bit.hole:
            yield bit
            continue
        start = 0
        for at, character in enumerate(bit.text):
            if character in BLANKS:
                if at > start:
                    yield bit.part(start, at)
                yield replace(bit, text="", ends=True)
                start = at + 1
        if start < len(bit.text):
            yield bit.part(start, len(bit.text))


def word(bits: Sequence[Bit], used: Place) -> Word:
    """The word that `bits` make, where it stands at `used`."""
    needs = tuple(dict.fromkeys(bit.hole for bit in bits if bit.hole))
    pattern = any(not bit.quoted and not bit.hole and PATTERN & set(bit.text) for bit in bits)
    weakest = max((bit.sure for bit in bits), key=_ORDER.index, default=Sure.LITERAL)
    sure = Sure.UNKNOWN if needs else max(weakest, Sure.PATTERN if pattern else weakest, key=_ORDER.index)
    loose = any(bit.hole and (not bit.quoted or is_many(bit)) for bit in bits)
    text = "".join(bit.text for bit in bits)
    return Word(text, _written(bits, used), used, sure, needs, loose)


def _written(bits: Sequence[Bit], used: Place) -> Place:
    """Where the whole of it was written in one go, as `4` in `TP=4`; else where it is used."""
    if len({bit.source for bit in bits}) != 1 or any(bit.sure is Sure.LITERAL for bit in bits):
        return used
    source, start, end = bits[0].source, bits[0].start, bits[-1].end
    gaps = [(a.end, b.start) for a, b in pairwise(bits)]
    together = all(a <= b and not set(source.text(a, b)) & set(BLANKS) for a, b in gaps)
    written = source.place(start, end)
    beside = used.file != written.file or not (used <= written and written.end_line <= used.end_line)
    return written if together and beside else used
