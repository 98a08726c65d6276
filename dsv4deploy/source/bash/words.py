"""Words of a bash script as bash expands them: quotes, variables, defaults, arrays; what is not known stays a hole.

The tree says where a word and what is nested in it begin and end; the rules of quoting are those of bash(1).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4deploy.source.bash.bits import BLANKS, Bit, Bits, Source, fields
from dsv4deploy.source.bash.parameters import Parameters, Scope
from dsv4deploy.source.bash.tree import end_of_ansi, walk

if TYPE_CHECKING:
    from tree_sitter import Node

_ENDS = b" \t\n;&|()<>"
_STOPS = b"\\'\"$`~<>"
OWN_FOLDER = "the folder of the script"
_NESTED = {"expansion", "command_substitution", "arithmetic_expansion", "process_substitution"}
_NAME = re.compile(r"[A-Za-z_]\w*|\d|[@*#?$!_-]", re.ASCII)
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(
    r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL
)


def nested(root: "Node") -> dict[int, "Node"]:
    """Every expansion that has an end of its own, by the byte at which it starts; the outermost wins."""
    found: dict[int, Node] = {}
    for node in walk(root):
        if node.type in _NESTED:
            found.setdefault(node.start_byte, node)
    return found


class Words:
    """Expands ranges of one source in one scope."""

    def __init__(self, source: Source, inside: dict[int, "Node"], scope: Scope) -> None:
        self._source = source
        self._inside = inside
        self._scope = scope
        self._parameters = Parameters(source, scope, self._default)

    def split(self, start: int, end: int, skip: Sequence[tuple[int, int]] = ()) -> Iterator[tuple[int, int]]:
        """The ranges of the words in bytes `start` to `end`, as they are written; `skip`: redirections in between."""
        data = self._source.data
        ends = dict(skip)
        at, begin = start, -1
        while at < end:
            if at in ends or data[at : at + 1].decode("latin-1") in BLANKS:
                if begin >= 0:
                    yield begin, at
                at, begin = ends.get(at, at + 1), -1
            elif data[at : at + 2] == b"\\\n":
                at += 2
            elif begin < 0 and data[at : at + 1] == b"#":
                at = data.find(b"\n", at, end) % (end + 1)
            else:
                begin = at if begin < 0 else begin
                at = self._behind(at, end, begin) or at + 1
        if begin >= 0:
            yield begin, end

    def end(self, start: int) -> int:
        """Where the word that holds byte `start` ends; the grammar breaks some in two (an escape right after a quote)."""
        data = self._source.data
        at = start
        while at < len(data):
            behind = self._behind(at, len(data), start)
            if behind is None and data[at] in _ENDS:
                break
            at = behind or at + 1
        return at

    def _behind(self, at: int, end: int, start: int) -> int | None:
        """The byte behind what begins at `at` if that is quotes or an expansion; nothing is expanded for good."""
        if self._source.data[at] not in _STOPS:
            return None
        with self._parameters.only_looking():
            step = self._special(at, end, start)
        return step[0] if step else None

    def fields(self, start: int, end: int) -> list[Bits]:
        """The words that the word in bytes `start` to `end` becomes."""
        return fields(self.cook(start, end))

    def cook(self, start: int, end: int, *, value: bool = False) -> Bits:
        """The fragments of one word; `value`: it is the right side of an assignment, which is never split."""
        found = list(self._unquoted(start, end))
        if value:
            blank = Bit.made(" ", self._source, start, start)
            found = [blank if bit.ends else replace(bit, quoted=True, split=False) for bit in found]
        return tuple(self._braces(found, start, end, value))

    def _braces(self, found: list[Bit], start: int, end: int, value: bool) -> list[Bit]:
        loose = "".join(bit.text for bit in found if not bit.quoted and not bit.split and not bit.hole)
        if value or not re.search(r"\{[^{}]*(,|\.\.)[^{}]*\}|\{.*,.*\}", loose):
            return found
        return [self._hole(self._source.text(start, end), start, end, quoted=False)]

    def _unquoted(self, start: int, end: int, *, split: bool = False) -> Iterator[Bit]:
        at, run = start, start
        data = self._source.data
        while at < end:
            if data[at] not in _STOPS:
                at += 1
                continue
            step = self._special(at, end, start)
            if step is None:
                at += 1
                continue
            yield from self._run(run, at, split)
            after, bits = step
            yield from bits
            at = run = after
        yield from self._run(run, end, split)

    def _run(self, start: int, end: int, split: bool) -> Iterator[Bit]:
        if end > start:
            yield Bit(self._source.text(start, end), self._source, start, end, split=split)

    def _special(self, at: int, end: int, start: int) -> tuple[int, Sequence[Bit]] | None:
        """What begins at byte `at` outside quotes: the byte after it, and its fragments; None for a common character."""
        first, second = self._source.data[at : at + 1], self._source.data[at + 1 : at + 2]
        if first == b"$" and second in {b"'", b'"'}:
            return self._ansi(at) if second == b"'" else self._double(at + 1)
        if first in {b"$", b"`"}:
            return self._dollar(at, end, quoted=False)
        if first in {b"<", b">"}:
            return self._process(at)
        if first == b"~":
            return self._tilde(at, end) if at == start else None
        return {b"\\": self._escaped, b"'": self._raw, b'"': self._double}[first](at)

    def _raw(self, at: int) -> tuple[int, Sequence[Bit]]:
        close = self._source.data.find(b"'", at + 1) % (len(self._source.data) + 1)
        return close + 1, [self._literal(at + 1, close)]

    def _process(self, at: int) -> tuple[int, Sequence[Bit]] | None:
        node = self._inside.get(at)
        if node is None:
            return None
        return node.end_byte, [self._hole(self._source.text(at, node.end_byte), at, node.end_byte)]

    def _escaped(self, at: int) -> tuple[int, Sequence[Bit]]:
        if self._source.data[at + 1 : at + 2] == b"\n":
            return at + 2, []
        width = len(self._source.text(at + 1, at + 5)[:1].encode("utf-8", "surrogateescape"))
        return at + 1 + width, [self._literal(at + 1, at + 1 + width)]

    def _literal(self, start: int, end: int) -> Bit:
        return Bit(self._source.text(start, end), self._source, start, end, quoted=True)

    def _hole(self, name: str, start: int, end: int, quoted: bool = True) -> Bit:
        return Bit.unknown(name, self._source, start, end, quoted=quoted)

    def _tilde(self, at: int, end: int) -> tuple[int, Sequence[Bit]] | None:
        user = re.match(rb"~([\w.-]*)(?=[/:]|$)", self._source.data[at:end])
        if user is None:
            return None
        after = at + user.end()
        home = None if user[1] else self._scope.variable("HOME")
        if home and home.items:
            return after, [replace(bit, quoted=True) for bit in home.items[0]]
        name = f"~{user[1].decode()}" if user[1] else "HOME"
        return after, [self._hole(name, at, after)]

    def _ansi(self, at: int) -> tuple[int, Sequence[Bit]]:
        close = end_of_ansi(self._source.data, at) - 1
        try:
            text = _ANSI.sub(_ansi_character, self._source.text(at + 2, close)).partition("\0")[0]
            # Bytes written one by one can make up characters together.
            text = text.encode("utf-8", "surrogateescape").decode("utf-8")
        except (UnicodeError, ValueError, OverflowError):
            return close + 1, [self._hole(self._source.text(at, close + 1), at, close + 1)]
        return close + 1, [Bit(text, self._source, at + 2, close, exact=False, quoted=True)]

    def _double(self, at: int) -> tuple[int, Sequence[Bit]]:
        """A string in double quotes that opens at byte `at`."""
        bits, close, many = self._quoted_run(at + 1, None)
        if not bits and not many:
            bits = [Bit("", self._source, at + 1, at + 1, quoted=True)]
        return close + 1, bits

    def quoted(self, start: int, end: int) -> Bits:
        """The fragments of bytes `start` to `end` as if they stood in double quotes (a here-document, a default)."""
        return tuple(self._quoted_run(start, end)[0])

    def _quoted_run(self, start: int, end: int | None) -> tuple[list[Bit], int, bool]:
        data = self._source.data
        at = run = start
        bits: list[Bit] = []
        many = False
        while at < len(data) if end is None else at < end:
            character = data[at : at + 1]
            if character == b'"' and end is None:
                break
            step: tuple[int, Sequence[Bit]] | None = None
            if character == b"\\" and data[at + 1 : at + 2] in {b"$", b"`", b'"', b"\\", b"\n"}:
                step = at + 2, [] if data[at + 1 : at + 2] == b"\n" else [self._literal(at + 1, at + 2)]
            elif character in {b"$", b"`"}:
                step = self._dollar(at, len(data), quoted=True)
                many = many or data[at : at + 2] == b"$@" or b"[@]" in data[at : step[0] if step else at]
            if step is None:
                at += 1
                continue
            bits += [self._literal(run, at)] if at > run else []
            at = run = step[0]
            bits += step[1]
        bits += [self._literal(run, at)] if at > run else []
        return bits, at, many

    def _default(self, start: int, end: int, quoted: bool) -> Bits:
        if quoted:
            return self.quoted(start, end)
        return tuple(self._unquoted(start, end, split=True))

    def _dollar(self, at: int, end: int, *, quoted: bool) -> tuple[int, Sequence[Bit]] | None:
        node = self._inside.get(at)
        if node is None:
            return self._simple(at, end, quoted)
        after = node.end_byte
        written = self._source.text(at, after)
        if node.type == "expansion":
            return after, self._parameters.braced(at + 2, after - 1, quoted)
        if node.type == "arithmetic_expansion":
            return after, self._parameters.arithmetic(node) or [self._hole(written, at, after, quoted)]
        if not _is_own_folder(written):
            return after, [self._hole(written, at, after, quoted)]
        if self._scope.folder:
            return after, [Bit.made(self._scope.folder, self._source, at, after)]
        return after, [self._hole(OWN_FOLDER, at, after, quoted)]

    def _simple(self, at: int, end: int, quoted: bool) -> tuple[int, Sequence[Bit]] | None:
        name = _NAME.match(self._source.text(at + 1, min(end, at + 300)))
        if name is None:
            return None
        after = at + 1 + len(name[0])
        return after, self._parameters.value(name[0], None, at, after, quoted)


def _ansi_character(found: re.Match[str]) -> str:
    hexadecimal, short, long, octal, control, other = found.groups()
    if hexadecimal or octal:
        byte = bytes([int(hexadecimal, 16) if hexadecimal else int(octal, 8) & 0xFF])
        return byte.decode("utf-8", "surrogateescape")
    if short or long:
        return chr(int(short or long, 16))
    if control:
        return chr(ord(control) & 0x1F)
    return _ESCAPES.get(other, other if other in "\\'\"?" else f"\\{other}")


def _is_own_folder(written: str) -> bool:
    """Whether a command substitution can only say which folder the script lies in."""
    names = re.findall(r"[A-Za-z_]\w*|\$0", written.strip("`"))
    about = {"$0", "BASH_SOURCE"} & set(names)
    allowed = {"$0", "BASH_SOURCE", "cd", "pwd", "dirname", "readlink", "realpath", "f", "P", "dev", "null", "e"}
    return bool(about) and {"dirname"} <= set(names) <= allowed
