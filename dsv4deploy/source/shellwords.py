"""Words of a bash script as bash expands them: quotes, variables, defaults, arrays; what is not known stays a hole.

The tree says where a word and what is nested in it begin and end; the rules of quoting are those of bash(1).
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from dsv4deploy.model.imported import Sure
from dsv4deploy.model.place import Place
from dsv4deploy.source.bits import BLANKS, Bit, Source, fields, plain, weaker

if TYPE_CHECKING:
    from tree_sitter import Node

Bits = tuple[Bit, ...]

_STOPS = b"\\'\"$`~<>"
_NESTED = {"expansion", "command_substitution", "arithmetic_expansion", "process_substitution"}
_NAME = re.compile(r"[A-Za-z_]\w*|\d|[@*#?$!_-]")
_PARAMETER = re.compile(
    r"(?P<sign>[!#]?)(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[(?P<item>[^]]*)\])?(?P<rest>.*)", re.DOTALL
)
_CHOICE = re.compile(r":?[-=?+]")
_CALLER = re.compile(r"[A-Za-z_]\w*|\$\d+")
_ESCAPES = {"a": "\a", "b": "\b", "e": "\x1b", "E": "\x1b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v"}
_ANSI = re.compile(r"\\(?:x([0-9A-Fa-f]{1,2})|u([0-9A-Fa-f]{1,4})|U([0-9A-Fa-f]{1,8})|([0-7]{1,3})|c(.)|(.))", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Variable:
    """A shell variable: the fragments of each item; a scalar has one, an unset variable none."""

    items: tuple[Bits, ...]
    array: bool = False
    exported: bool = False
    place: Place | None = None


class Scope(Protocol):
    """What the variables are at this point of the script."""

    folder: str

    def variable(self, name: str) -> Variable | None:
        """The variable, or None if this file does not say what it is."""

    def positional(self) -> tuple[Bits, ...] | None:
        """The arguments of the function we are in; None if they come from the caller of the script."""

    def assign(self, name: str, bits: Bits) -> None:
        """Set it, as `${X:=y}` does."""


def nested(root: "Node") -> dict[int, "Node"]:
    """Every expansion that has an end of its own, by the byte at which it starts; the outermost wins."""
    found: dict[int, Node] = {}
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _NESTED:
            found.setdefault(node.start_byte, node)
        waiting += node.children
    return found


class Words:
    """Expands ranges of one source in one scope."""

    def __init__(self, source: Source, inside: dict[int, "Node"], scope: Scope) -> None:
        self._source = source
        self._inside = inside
        self._scope = scope

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
                step = self._special(at, end, begin, split=False) if data[at] in _STOPS else None
                at = step[0] if step else at + 1
        if begin >= 0:
            yield begin, end

    def fields(self, start: int, end: int) -> list[Bits]:
        """The words that the word in bytes `start` to `end` becomes."""
        return fields(self.cook(start, end))

    def cook(self, start: int, end: int, *, value: bool = False) -> Bits:
        """The fragments of one word; `value`: it is the right side of an assignment, which is never split."""
        found = list(self._unquoted(start, end, split=not value))
        if value:
            found = [replace(bit, quoted=True, split=False) for bit in found if not bit.ends]
        return tuple(self._braces(found, start, end, value))

    def _braces(self, found: list[Bit], start: int, end: int, value: bool) -> list[Bit]:
        loose = "".join(bit.text for bit in found if not bit.quoted and not bit.split and not bit.hole)
        if value or not re.search(r"\{[^{}]*(,|\.\.)[^{}]*\}|\{.*,.*\}", loose):
            return found
        return [self._hole(self._source.text(start, end), start, end, quoted=False)]

    def _unquoted(self, start: int, end: int, *, split: bool, literal_split: bool = False) -> Iterator[Bit]:
        at, run = start, start
        data = self._source.data
        while at < end:
            if data[at] not in _STOPS:
                at += 1
                continue
            step = self._special(at, end, start, split)
            if step is None:
                at += 1
                continue
            yield from self._run(run, at, literal_split)
            after, bits = step
            yield from bits
            at = run = after
        yield from self._run(run, end, literal_split)

    def _run(self, start: int, end: int, split: bool) -> Iterator[Bit]:
        if end > start:
            yield Bit(self._source.text(start, end), self._source, start, end, split=split)

    def _special(self, at: int, end: int, start: int, split: bool) -> tuple[int, Sequence[Bit]] | None:
        """What begins at byte `at` outside quotes: the byte after it, and its fragments; None for a common character."""
        data = self._source.data
        match data[at : at + 1]:
            case b"\\":
                return self._escaped(at, end)
            case b"'":
                close = data.index(b"'", at + 1)
                return close + 1, [self._literal(at + 1, close)]
            case b'"':
                return self._double(at)
            case b"$" if data[at + 1 : at + 2] == b"'":
                return self._ansi(at)
            case b"$" if data[at + 1 : at + 2] == b'"':
                return self._double(at + 1)
            case b"$" | b"`":
                return self._dollar(at, end, quoted=False, split=split)
            case b"~" if at == start:
                return self._tilde(at, end)
            case b"<" | b">" if at in self._inside:
                node = self._inside[at]
                return node.end_byte, [self._hole(self._source.text(at, node.end_byte), at, node.end_byte, quoted=True)]
        return None

    def _escaped(self, at: int, end: int) -> tuple[int, Sequence[Bit]]:
        rest = self._source.data[at + 1 : end]
        if rest.startswith(b"\n"):
            return at + 2, []
        width = len(self._source.text(at + 1, min(at + 5, end))[:1].encode("utf-8", "surrogateescape"))
        return at + 1 + width, [self._literal(at + 1, at + 1 + width)]

    def _literal(self, start: int, end: int) -> Bit:
        return Bit(self._source.text(start, end), self._source, start, end, quoted=True)

    def _hole(self, name: str, start: int, end: int, *, quoted: bool) -> Bit:
        written = self._source.text(start, end)
        return Bit(written, self._source, start, end, quoted=quoted, sure=Sure.UNKNOWN, hole=name)

    def _tilde(self, at: int, end: int) -> tuple[int, Sequence[Bit]] | None:
        user = re.match(rb"~([\w.-]*)(?=/|$)", self._source.data[at:end])
        if user is None:
            return None
        after = at + user.end()
        home = None if user[1] else self._scope.variable("HOME")
        if home and home.items:
            return after, [replace(bit, quoted=True) for bit in home.items[0]]
        name = f"~{user[1].decode()}" if user[1] else "HOME"
        return after, [self._hole(name, at, after, quoted=True)]

    def _ansi(self, at: int) -> tuple[int, Sequence[Bit]]:
        data = self._source.data
        close = at + 2
        while data[close : close + 1] != b"'":
            close += 2 if data[close : close + 1] == b"\\" else 1
        text = _ANSI.sub(_ansi_character, self._source.text(at + 2, close))
        text = text.encode("utf-8", "surrogateescape").decode("utf-8", "surrogateescape")
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
                step = self._dollar(at, len(data), quoted=True, split=False)
                many = many or data[at : at + 2] == b"$@" or b"[@]" in data[at : step[0] if step else at]
            if step is None:
                at += 1
                continue
            bits += [self._literal(run, at)] if at > run else []
            at = run = step[0]
            bits += step[1]
        bits += [self._literal(run, at)] if at > run else []
        return bits, at, many

    def _dollar(self, at: int, end: int, *, quoted: bool, split: bool) -> tuple[int, Sequence[Bit]] | None:
        node = self._inside.get(at)
        if node is None:
            return self._simple(at, end, quoted, split)
        after = node.end_byte
        written = self._source.text(at, after)
        if node.type == "expansion":
            return after, self._shown(self._parameter(at + 2, after - 1, quoted), quoted, split)
        known: Bits = ()
        if node.type == "arithmetic_expansion":
            known = self._arithmetic(node)
        elif _is_own_folder(written):
            known = self._own_folder(at, after)
        return after, self._shown(known or (self._hole(written, at, after, quoted=quoted),), quoted, split)

    def _simple(self, at: int, end: int, quoted: bool, split: bool) -> tuple[int, Sequence[Bit]] | None:
        name = _NAME.match(self._source.text(at + 1, min(end, at + 300)))
        if name is None:
            return None
        after = at + 1 + len(name[0])
        bits = self._value(name[0], None, at, after, quoted)
        return after, self._shown(bits, quoted, split)

    @staticmethod
    def _shown(bits: Bits, quoted: bool, split: bool) -> Sequence[Bit]:
        if quoted:
            return [replace(bit, quoted=True, split=False) for bit in bits]
        return [bit if bit.ends else replace(bit, quoted=False, split=split) for bit in bits]

    def _value(self, name: str, item: str | None, start: int, end: int, quoted: bool) -> Bits:
        """`$name` or `${name[item]}`."""
        items = self._items(name, item)
        if items is None:
            hole = f"${name}" if not name[0].isalpha() and name[0] != "_" else name
            return (self._hole(hole if item is None else f"{hole}[{item}]", start, end, quoted=quoted),)
        return self._joined(items, "*" if name == "*" else item or name, quoted, start)

    def _items(self, name: str, item: str | None) -> tuple[Bits, ...] | None:
        if name in {"@", "*"}:
            return self._scope.positional()
        if name.isdigit() and name != "0":
            given = self._scope.positional()
            return None if given is None else given[int(name) - 1 : int(name)]
        if not (name[0].isalpha() or name[0] == "_"):
            return None
        variable = self._scope.variable(name)
        if variable is None:
            return None
        items = tuple(weaker(bits, Sure.ASSIGNED) for bits in variable.items)
        if item in {"@", "*"}:
            return items
        index = item or "0"
        return items[int(index) : int(index) + 1] if index.isdigit() else None

    def _joined(self, items: tuple[Bits, ...], which: str, quoted: bool, at: int) -> Bits:
        between = Bit("", self._source, at, at, ends=True)
        if which == "*" and quoted:
            between = Bit(" ", self._source, at, at, exact=False, quoted=True)
        found: list[Bit] = []
        for index, bits in enumerate(items):
            empty = (Bit("", self._source, at, at, quoted=True),) if quoted else ()
            found += [between] if index else []
            found += bits or empty
        return tuple(found)

    def _parameter(self, start: int, end: int, quoted: bool) -> Bits:
        """The inside of `${...}`."""
        text = self._source.text(start, end)
        hole = (self._hole(text, start, end, quoted=quoted),)
        found = _PARAMETER.fullmatch(text)
        if found is None:
            return hole
        name, item, rest = found["name"], found["item"], found["rest"]
        bits = self._value(name, item, start - 2, end + 1, quoted)
        if found["sign"]:
            return self._signed(found["sign"], name, item, rest, start, end) or hole
        if not rest:
            return bits
        choice = _CHOICE.match(rest)
        if choice:
            begin = end - len(rest.encode("utf-8", "surrogateescape")) + len(choice[0])
            return self._choice(choice[0], name, bits, begin, end, quoted)
        changed = _trimmed(plain(bits), rest) if item is None else None
        if changed is None:
            return hole
        return (Bit(changed, self._source, start, end, exact=False, sure=Sure.ASSIGNED),)

    def _signed(self, sign: str, name: str, item: str | None, rest: str, start: int, end: int) -> Bits:
        items = self._items(name, item)
        if items is None or rest:
            return ()
        if sign == "!":
            target = plain(items[0]) if items else None
            return self._value(target, None, start, end, True) if target and target.isidentifier() else ()
        text = plain(items[0]) if items else ""
        if item not in {"@", "*"} and text is None:
            return ()
        length = len(items) if item in {"@", "*"} else len(text or "")
        return (Bit(str(length), self._source, start, end, exact=False, sure=Sure.ASSIGNED),)

    def _choice(self, operator: str, name: str, bits: Bits, start: int, end: int, quoted: bool) -> Bits:
        """`${X:-y}` and its kin; `bits` is X."""
        open_ = any(bit.hole for bit in bits)
        from_caller = open_ and len(bits) == 1 and _CALLER.fullmatch(bits[0].hole) is not None
        is_set = bool(bits) or self._items(name, None) not in {None, ()}
        filled = any(bit.text for bit in bits if not bit.ends) if operator[0] == ":" else is_set
        if operator[-1] == "+":
            if open_ and not any(bit.text for bit in bits if not bit.hole):
                return (self._hole(name, start, end, quoted=quoted),)
            return self._default(start, end, quoted) if filled else ()
        if operator[-1] == "?" or (filled and not from_caller):
            return bits
        sure = Sure.DEFAULT if from_caller else Sure.ASSIGNED
        chosen = weaker(self._default(start, end, quoted), sure)
        if operator[-1] == "=":
            self._scope.assign(name, tuple(bit for bit in chosen if not bit.ends))
        return chosen

    def _default(self, start: int, end: int, quoted: bool) -> Bits:
        if quoted:
            return self.quoted(start, end)
        return tuple(self._unquoted(start, end, split=True, literal_split=True))

    def _own_folder(self, start: int, end: int) -> Bits:
        if not self._scope.folder:
            return ()
        return (Bit(self._scope.folder, self._source, start, end, exact=False, sure=Sure.ASSIGNED),)

    def _arithmetic(self, node: "Node") -> Bits:
        result = self._number(node.children[1]) if len(node.children) == 3 else None  # noqa: PLR2004 (brackets and one expression)
        if result is None:
            return ()
        return (Bit(str(result), self._source, node.start_byte, node.end_byte, exact=False, sure=Sure.ASSIGNED),)

    def _number(self, node: "Node") -> int | None:
        text = self._source.text(node.start_byte, node.end_byte)
        if node.type == "number":
            return int(text) if text.isdigit() and (text == "0" or text[0] != "0") else None
        if node.type in {"variable_name", "simple_expansion", "expansion"}:
            value = plain(self._value(text.strip("${}"), None, node.start_byte, node.end_byte, True))
            return int(value) if value is not None and re.fullmatch(r"-?(0|[1-9]\d*)", value) else None
        if node.type == "parenthesized_expression":
            return self._number(node.children[1])
        if node.type == "binary_expression":
            left, right = self._number(node.children[0]), self._number(node.children[2])
            operator = self._source.text(node.children[1].start_byte, node.children[1].end_byte)
            return None if left is None or right is None else _calculated(left, operator, right)
        return None


def _calculated(left: int, operator: str, right: int) -> int | None:
    match operator:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/" | "%" if right > 0 and left >= 0:
            return left // right if operator == "/" else left % right
    return None


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


def _trimmed(text: str | None, operation: str) -> str | None:
    """`${X%.sh}` and its kin, where the pattern has no wildcard; None for what we do not follow."""
    if text is None:
        return None
    if (substring := re.fullmatch(r":\s*(\d+)(?::(\d+))?", operation)) is not None:
        start, length = int(substring[1]), substring[2]
        return text[start : start + int(length)] if length else text[start:]
    if operation in {"^^", ",,"}:
        return text.upper() if operation == "^^" else text.lower()
    for operator, cut in (("%%", str.removesuffix), ("%", str.removesuffix), ("##", str.removeprefix), ("#", str.removeprefix)):
        if operation.startswith(operator):
            pattern = operation.removeprefix(operator)
            return None if set(pattern) & set("*?[\\'\"$") else cut(text, pattern)
    return None


def _is_own_folder(written: str) -> bool:
    """Whether a command substitution can only say which folder the script lies in."""
    names = re.findall(r"[A-Za-z_]\w*|\$0", written.strip("`"))
    about = {"$0", "BASH_SOURCE"} & set(names)
    allowed = {"$0", "BASH_SOURCE", "cd", "pwd", "dirname", "readlink", "realpath", "f", "P", "dev", "null", "e"}
    return bool(about) and {"dirname"} <= set(names) <= allowed
