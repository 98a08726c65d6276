"""A report as a compiler would print it: the source line underlined, then effect, evidence and remedy."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from dsv4deploy.model.diagnostic import Diagnostic, Level, Report, Waived, in_reading_order
from dsv4deploy.model.document import Sources
from dsv4deploy.model.place import Place

_WIDEST = 100  # columns of a source line that are shown around what is underlined
_LONGEST_WORD, _LONGEST_TEXT = 400, 4000  # characters of a message that are shown
_WORD = re.compile(r"\S+")
_TAB = "    "
_MOST_NEEDS = 8
_COLORS = {Level.ERROR: "1;31", Level.WARNING: "1;33", Level.NOTE: "1;36"}
_FRAME, _STRONG = "1;34", "1"


def wants_color(environment: Mapping[str, str], *, is_terminal: bool) -> bool:
    """Whether to color: on a terminal, unless `NO_COLOR` says anything at all or the terminal is dumb."""
    return is_terminal and not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"


def render(report: Report, sources: Sources, *, color: bool = False, fine: str = "fine") -> str:
    """All of `report`, the gravest first, with a closing line that counts; `fine` closes it if nothing was found."""
    paint = _Paint(color)
    order = list(Level)
    diagnostics = sorted(in_reading_order(report.diagnostics), key=lambda one: order.index(one.level))
    explained: set[str] = set()
    blocks = []
    for one in diagnostics:
        blocks.append("\n".join(_Block(sources, paint, _margin(one)).lines(one, is_new=one.rule not in explained)))
        explained.add(one.rule)
    closing = [*_waived(report.waived), *_unknown(report), _counts(report) if report.diagnostics else fine]
    return "\n\n".join([*blocks, "\n".join(closing)]) + "\n"


class _Paint(NamedTuple):
    on: bool

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.on and text else text


class _Block(NamedTuple):
    """How one diagnostic is printed: texts, colors, and the columns of its line numbers."""

    sources: Sources
    paint: _Paint
    margin: int

    def lines(self, one: Diagnostic, *, is_new: bool) -> Iterator[str]:
        code = _COLORS[one.level]
        yield self.paint(f"{one.level}[{_safe(one.rule)}]", code) + self.paint(f": {_safe(one.message)}", _STRONG)
        if one.place:
            yield from self._shown(one.place, "-->", "^", one.label, code)
        for related in one.related:
            yield from self._shown(related.place, ":::", "-", related.label, _FRAME)
        about = (
            f"marks show {one.rule.removeprefix('mark:')}" if one.rule.startswith("mark:") else f"explain {one.rule}"
        )
        more = f"dsv4deploy {about}" if is_new else ""
        parts = {"effect": (one.effect,), "evidence": one.evidence, "remedy": (one.remedy,), "more": (more,)}
        for name, texts in parts.items():
            yield from self._part(name, [text for text in texts if text])

    def _shown(self, place: Place, arrow: str, sign: str, label: str, code: str) -> Iterator[str]:
        """Where it is, the line that stands there, and the signs below it."""
        where = "the command line" if place.option else str(place)
        lines = self.sources.get(place.file, ())
        is_known = place.line <= len(lines)
        beside = f"  {_safe(label)}" if label and not is_known else ""
        yield f"{' ' * (self.margin + 1)}{self.paint(arrow, _FRAME)} {_safe(where)}{beside}"
        if is_known:
            from dsv4deploy.node.scrub import masked  # noqa: PLC0415 (most checks have no line to show, and start fast)

            line, shift = masked(place.option + lines[place.line - 1]), len(place.option) - 1
            end = place.end_column if place.end_line == place.line else len(line) + 1
            text, before, width = _cut(line, place.column + shift, end + shift)
            yield self._framed("", "")
            yield self._framed("" if place.option else str(place.line), text)
            yield self._framed("", " " * before + self.paint(f"{sign * width} {_safe(label)}".rstrip(), code))

    def _framed(self, number: str, text: str) -> str:
        return f" {self.paint(number.rjust(self.margin), _FRAME)} {self.paint('|', _FRAME)} {text}".rstrip()

    def _part(self, name: str, texts: Sequence[str]) -> Iterator[str]:
        lines = ";\n".join(texts).splitlines()
        lead = f"{' ' * (self.margin + 2)}{self.paint('=', _FRAME)} {self.paint(f'{name}:', _STRONG)}"
        for number, line in enumerate(lines):
            head = lead + " " * (9 - len(name)) if number == 0 else " " * (self.margin + 14)
            yield f"{head}{_safe(line)}"


def _margin(one: Diagnostic) -> int:
    places = [place for place in (one.place, *(related.place for related in one.related)) if place]
    return max((len(str(place.line)) for place in places if not place.option), default=1)


def _cut(line: str, start: int, end: int) -> tuple[str, int, int]:
    """What is shown of `line`, the columns before the range from `start` to `end` in it, and the columns of the range.

    A long line is cut on both sides, so that the range begins in the middle.
    """
    cells = [_cell(character) for character in line]
    widths = [_width(cell) for cell in cells]
    first, last = 0, len(cells)
    if sum(widths) > _WIDEST:
        first = _back(widths, start, _WIDEST // 3)
        last = _forth(widths, first, _WIDEST)
    head, tail = "..." if first else "", "..." if last < len(cells) else ""
    before = len(head) + sum(widths[first:start])
    return head + "".join(cells[first:last]) + tail, before, max(1, sum(widths[start : min(end, last)]))


def _back(widths: Sequence[int], start: int, room: int) -> int:
    while start > 0 and room > 0:
        start -= 1
        room -= widths[start] if start < len(widths) else 0
    return start


def _forth(widths: Sequence[int], start: int, room: int) -> int:
    while start < len(widths) and room > 0:
        room -= widths[start]
        start += 1
    return start


def _cell(character: str) -> str:
    """What is printed for one character: never a control character, nor one that hides or reorders others."""
    if character == "\t":
        return _TAB
    if character < " ":
        return chr(0x2400 + ord(character))
    if character == "\x7f" or unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"):
        return f"<U+{ord(character):04X}>"
    return character


def _width(cell: str) -> int:
    if len(cell) != 1:
        return len(cell)
    if unicodedata.combining(cell) or unicodedata.category(cell) in ("Mn", "Me"):
        return 0
    return 2 if unicodedata.east_asian_width(cell) in "WF" else 1


def _safe(text: str) -> str:
    """`text` without what a terminal could take for more than text, and without the middle of what is far too long."""
    words = _WORD.sub(lambda word: _brief(word[0], _LONGEST_WORD), text)
    return "".join(map(_cell, _brief(words, _LONGEST_TEXT)))


def _brief(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[: most * 2 // 3]}...{text[-(most // 6) :]}"


def _waived(waived: Iterable[Waived]) -> Iterator[str]:
    for one in waived:
        at = f" at {one.diagnostic.place}" if one.diagnostic.place else ""
        until = f" (until {one.until})" if one.until else ""
        yield _safe(f"waived: {one.diagnostic.rule}{at}: {one.reason}{until}")


def _unknown(report: Report) -> Iterator[str]:
    if not report.unknown:
        return
    needs = sorted({need for one in report.unknown for need in one.needs})
    named = ", ".join(needs[:_MOST_NEEDS]) + (", ..." if len(needs) > _MOST_NEEDS else "")
    verb = "rule needs" if len(report.unknown) == 1 else "rules need"
    yield f"unknown: {len(report.unknown)} {verb} facts ({named}): dsv4deploy facts -i INVENTORY --limit NODE, kept for --facts"


def _counts(report: Report) -> str:
    counts = [_count(sum(one.level is level for one in report.diagnostics), level.value) for level in Level]
    counts += [f"{len(report.unknown)} unknown"] if report.unknown else []
    counts += [f"{len(report.waived)} waived"] if report.waived else []
    return ", ".join(counts)


def _count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
