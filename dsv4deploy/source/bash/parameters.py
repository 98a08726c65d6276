"""What `$X`, `${X:-y}`, `${ARRAY[@]}` and `$((X + 1))` stand for; a value that nobody gave stays a hole with its name."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from dsv4deploy.model.imported import Sure
from dsv4deploy.model.place import Place
from dsv4deploy.source.bash.bits import NAME, Bit, Bits, Source, is_many, plain, weaker

if TYPE_CHECKING:
    from tree_sitter import Node

_PARAMETER = re.compile(
    r"(?P<sign>[!#]?)(?P<name>[A-Za-z_]\w*|\d+|[@*#?$!-])(?:\[(?P<item>[^]]*)\])?(?P<rest>.*)", re.DOTALL | re.ASCII
)
_CHOICE = re.compile(r":?[-=?+]")
_CALLER = re.compile(r"[A-Za-z_]\w*|\$\d+", re.ASCII)


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


class Parameters:
    """Expands parameters of one source in one scope; `default` expands the `y` of `${X:-y}`."""

    def __init__(self, source: Source, scope: Scope, default: Callable[[int, int, bool], Bits]) -> None:
        self._source = source
        self._scope = scope
        self._default = default
        self._assigns = True

    @contextmanager
    def only_looking(self) -> Iterator[None]:
        """Within it `${X:=y}` sets nothing."""
        before, self._assigns = self._assigns, False
        yield
        self._assigns = before

    def _hole(self, name: str, start: int, end: int, quoted: bool) -> Bits:
        return (Bit.unknown(name, self._source, start, end, quoted=quoted),)

    def value(self, name: str, item: str | None, start: int, end: int, quoted: bool) -> Bits:
        """`$name` or `${name[item]}`."""
        items = self._items(name, item)
        if items is None:
            hole = f"${name}" if not name[0].isalpha() and name[0] != "_" else name
            return self._hole(hole if item is None else f"{hole}[{item}]", start, end, quoted)
        return self._joined(items, "*" if name == "*" else item or name, quoted, start)

    def _items(self, name: str, item: str | None) -> tuple[Bits, ...] | None:
        if name in {"@", "*"}:
            return self._scope.positional()
        if name.isdigit() and name != "0":
            given = self._scope.positional()
            return None if given is None or not _countable(given) else given[int(name) - 1 : int(name)]
        if not (name[0].isalpha() or name[0] == "_"):
            return None
        variable = self._scope.variable(name)
        if variable is None:
            return None
        items = tuple(weaker(bits, Sure.ASSIGNED) for bits in variable.items)
        if item in {"@", "*"}:
            return items
        index = item or "0"
        return items[int(index) : int(index) + 1] if index.isdigit() and _countable(items) else None

    def _joined(self, items: tuple[Bits, ...], which: str, quoted: bool, at: int) -> Bits:
        between = Bit("", self._source, at, at, ends=True)
        if which == "*" and quoted:
            between = Bit(" ", self._source, at, at, exact=False, quoted=True)
        found: list[Bit] = []
        for index, bits in enumerate(items):
            empty = (Bit("", self._source, at, at, quoted=True),) if quoted else ()
            found += [between] if index else []
            found += [replace(bit, quoted=quoted, split=not quoted) for bit in bits] or empty
        return tuple(found)

    def braced(self, start: int, end: int, quoted: bool) -> Bits:
        """The inside of `${...}`."""
        text = self._source.text(start, end)
        hole = self._hole(text, start - 2, end + 1, quoted)
        found = _PARAMETER.fullmatch(text)
        if found is None:
            return hole
        name, item, rest = found["name"], found["item"], found["rest"]
        bits = self.value(name, item, start - 2, end + 1, quoted)
        if found["sign"]:
            return self._signed(found, start, end) or hole
        if not rest:
            return bits
        choice = _CHOICE.match(rest)
        if choice:
            begin = end - len(rest.encode("utf-8", "surrogateescape")) + len(choice[0])
            return self._choice(choice[0], name, bits, (begin, end), quoted)
        changed = _trimmed(plain(bits), rest) if item is None else None
        if changed is None:
            return hole
        return (Bit.made(changed, self._source, start, end, quoted=quoted),)

    def _signed(self, found: re.Match[str], start: int, end: int) -> Bits:
        name, item = found["name"], found["item"]
        items = self._items(name, item)
        if items is None or found["rest"] or not _countable(items):
            return ()
        if found["sign"] == "!":
            target = plain(items[0]) if items else None
            return self.value(target, None, start, end, True) if target and NAME.fullmatch(target) else ()
        text = plain(items[0]) if items else ""
        if item not in {"@", "*"} and text is None:
            return ()
        length = len(items) if item in {"@", "*"} else len(text or "")
        return (Bit.made(str(length), self._source, start, end),)

    def _choice(self, operator: str, name: str, bits: Bits, default: tuple[int, int], quoted: bool) -> Bits:
        """`${X:-y}` and its kin; `bits` is X."""
        open_ = any(bit.hole for bit in bits)
        from_caller = open_ and len(bits) == 1 and _CALLER.fullmatch(bits[0].hole) is not None
        is_set = bool(bits) or self._items(name, None) not in {None, ()}
        filled = any(bit.text for bit in bits if not bit.ends) if operator[0] == ":" else is_set
        if operator[-1] == "+":
            if open_ and not any(bit.text for bit in bits if not bit.hole):
                return self._hole(name, *default, quoted)
            return self._default(*default, quoted) if filled else ()
        if operator[-1] == "?" or (filled and not from_caller):
            return bits
        sure = Sure.DEFAULT if from_caller else Sure.ASSIGNED
        chosen = weaker(self._default(*default, quoted), sure)
        if operator[-1] == "=" and self._assigns:
            self._scope.assign(name, tuple(bit for bit in chosen if not bit.ends))
        return chosen

    def arithmetic(self, node: "Node") -> Bits:
        result = self._number(node.children[1]) if len(node.children) == 3 else None  # noqa: PLR2004 (brackets and one expression)
        if result is None:
            return ()
        return (Bit.made(str(result), self._source, node.start_byte, node.end_byte),)

    def _number(self, node: "Node") -> int | None:
        text = self._source.text(node.start_byte, node.end_byte)
        if node.type == "number":
            return int(text) if text.isdigit() and (text == "0" or text[0] != "0") else None
        if node.type in {"variable_name", "simple_expansion", "expansion"}:
            value = plain(self.value(text.strip("${}"), None, node.start_byte, node.end_byte, True))
            return int(value) if value is not None and re.fullmatch(r"-?(0|[1-9]\d*)", value) else None
        if node.type == "parenthesized_expression":
            return self._number(node.children[1])
        if node.type == "binary_expression":
            left, right = self._number(node.children[0]), self._number(node.children[2])
            operator = self._source.text(node.children[1].start_byte, node.children[1].end_byte)
            return None if left is None or right is None else _calculated(left, operator, right)
        return None


def _countable(items: tuple[Bits, ...]) -> bool:
    """Whether each item is one word: an unknown that is not quoted, or a whole array, may be several or none."""
    return not any(bit.hole and (not bit.quoted or is_many(bit)) for bits in items for bit in bits)


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


def _trimmed(text: str | None, operation: str) -> str | None:
    """`${X%.sh}` and its kin, where the pattern has no wildcard; None for what we do not follow."""
    if text is None:
        return None
    if (substring := re.fullmatch(r":\s*(\d+)(?::(\d+))?", operation)) is not None:
        start, length = int(substring[1]), substring[2]
        return text[start : start + int(length)] if length else text[start:]
    if operation in {"^^", ",,"}:
        return text.upper() if operation == "^^" else text.lower()
    for operator, cut in (
        ("%%", str.removesuffix),
        ("%", str.removesuffix),
        ("##", str.removeprefix),
        ("#", str.removeprefix),
    ):
        if operation.startswith(operator):
            pattern = operation.removeprefix(operator)
            return None if set(pattern) & set("*?[\\'\"$") else cut(text, pattern)
    return None
