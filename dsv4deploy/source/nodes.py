"""YAML text -> a graph of nodes with places; bounded in depth and size whatever the text is."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from typing import Any, NoReturn, TypeAlias

import yaml

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related
from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.place import Place
from dsv4deploy.source.scalars import Surprise, meaning

MAX_DEPTH = 50
MAX_NODES = 20_000
# A file full of mistakes of one kind needs no thousand lines of output.
MAX_DIAGNOSTICS = 100

Event: TypeAlias = Any  # one of yaml.events; which one, `_take` finds out
Mark: TypeAlias = Any  # yaml.Mark of either reader, or None
Reader: TypeAlias = Callable[[str], Any]
PURE: Reader = yaml.SafeLoader
# The loader in C is nine times faster and gives the same marks; not every PyYAML is built with it.
FAST: Reader = getattr(yaml, "CSafeLoader", PURE)

_STRING_TAG = "tag:yaml.org,2002:str"
_PROPERTY = re.compile(r"[ \t]*(?:[&!]\S*)?[ \t]*(?:#.*)?")
_ONE_DOCUMENT = "keep one document a file: remove this line and what follows"
_BRACES = "a value such as {{ name }} or {name} must be quoted"
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")
# What the YAML reader says, and what a person should read.
_PLAIN_WORDS = (
    ("character '\\t'", "a tab cannot indent or begin a value in YAML: use spaces"),
    ("character '@'", "a value cannot begin with @: quote it"),
    ("character '`'", "a value cannot begin with a backquote: quote it"),
    ("character '%'", "a value cannot begin with %: quote it"),
    ("mapping values are not allowed", "a `:` that begins no value here: quote the text that holds it, or fix the indentation"),
    ("could not find expected ':'", "a line that is no `key: value`: a `:` is missing, or the indentation is wrong"),
    ("end of stream", "the text ends inside a quoted value: the closing quote is missing"),
    ("expected <block end>", "the indentation does not fit the lines above"),
    ("',' or ']'", "a list in brackets is not closed: `,` or `]` is missing"),
    ("',' or '}'", "a mapping in braces is not closed: `,` or `}` is missing"),
    ("unknown escape character", "an unknown escape in a double-quoted text: write \\\\ for a backslash, or use single quotes"),
    ("sequence entries are not allowed", "a list item that begins on the line of its key: put it on a line of its own"),
    ("block sequence entries are not allowed", "a list item cannot stand here: put it on a line of its own"),
    ("undefined tag handle", "tags (`!name`) are not used in this file: quote the value instead"),
)  # fmt: skip


@dataclass(slots=True, eq=False)
class Scalar:
    """A single value; `merges` says that it is a plain `<<`."""

    value: bool | int | float | str | None
    place: Place
    merges: bool = False
    size: int = 1
    height: int = 0


@dataclass(slots=True, eq=False)
class Collection:
    """A list, or a mapping whose children are key, value, key, value; size and height count aliases spelled out."""

    is_mapping: bool
    place: Place
    is_flow: bool
    children: "list[Node]" = field(default_factory=list)
    size: int = 1
    height: int = 1
    is_open: bool = True

    @property
    def pairs(self) -> "Iterable[tuple[Node, Node]]":
        return zip(self.children[::2], self.children[1::2], strict=True)


Node: TypeAlias = Scalar | Collection


class _Stop(Exception):  # noqa: N818 (no error: the end of the part of a text that can be understood)
    pass


@dataclass(slots=True)
class Composer:
    """Reads one text; afterwards `diagnostics` holds everything that is wrong with it."""

    file: str
    lines: tuple[str, ...]
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _anchors: dict[str, Node] = field(default_factory=dict)
    _open: list[Collection] = field(default_factory=list)
    _root: Node | None = None
    _documents: int = 0
    _nodes: int = 0

    def compose(self, text: str, reader: Reader) -> Node | None:
        """The document in `text`; None if there is none, or if it cannot be understood.

        Raises:
            yaml.YAMLError: it is not YAML.
        """
        events = reader(text)
        try:
            while events.check_event():
                self._take(events.get_event())
        except _Stop:
            return None
        return self._root

    def _take(self, event: Event) -> None:
        kind = type(event)
        if kind is yaml.ScalarEvent:
            self._add(self._scalar(event), event)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin(event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end(event)
        elif kind is yaml.AliasEvent:
            self._add(self._alias(event), event)
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                self._stop("yaml-documents", self._place(event), "a second document begins here", _ONE_DOCUMENT)

    def _scalar(self, event: Event) -> Scalar:
        text = event.value
        place = self._scalar_place(event)
        if _UNSPEAKABLE.search(text):
            self._refuse(
                "yaml-text", place, "a NUL or half a surrogate pair, which no program can be given", "remove it"
            )
        if not event.implicit[0] or event.tag:
            return Scalar(text, place)
        value = meaning(text)
        if isinstance(value, Surprise):
            self._refuse(
                "quote-it", place, f"{text} is {value.meaning}", f'quote it if it is text: "{text}"', label="quote it"
            )
            return Scalar(text, place)
        return Scalar(value, place, merges=text == "<<")

    def _alias(self, event: Event) -> Node:
        place = self._place(event)
        target = self._anchors.get(event.anchor)
        if target is None:
            near = nearest(event.anchor, self._anchors)
            self._stop(
                "yaml-alias", place, f"nothing above is named &{event.anchor}", f"did you mean *{near}?" if near else ""
            )
        if isinstance(target, Collection) and target.is_open:
            self._stop(
                "yaml-alias",
                place,
                f"*{event.anchor} stands inside what it names",
                "",
                (Related(target.place, "named here"),),
            )
        if len(self._open) + target.height > MAX_DEPTH:
            self._stop("too-deep", place, f"deeper than {MAX_DEPTH} levels once *{event.anchor} is spelled out", "")
        return target

    def _begin(self, event: Event) -> None:
        place = self._place(event)
        if len(self._open) >= MAX_DEPTH:
            self._stop("too-deep", place, f"nested deeper than {MAX_DEPTH} levels", "")
        node = Collection(type(event) is yaml.MappingStartEvent, place, bool(event.flow_style))
        self._add(node, event)
        self._open.append(node)

    def _add(self, node: Node, event: Event) -> None:
        if getattr(event, "tag", None) not in (None, _STRING_TAG) or (
            event.__class__ is not yaml.ScalarEvent and getattr(event, "tag", None)
        ):
            self._refuse(
                "yaml-tag",
                self._place(event),
                f"the tag {event.tag} means nothing here",
                "remove it; quote the value if it is text",
            )
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._stop("too-large", node.place, f"more than {MAX_NODES} values in one file", "")
        if event.anchor and type(event) is not yaml.AliasEvent:
            self._anchors[event.anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _end(self, event: Event) -> None:
        node = self._open.pop()
        node.is_open = False
        node.place = self._collection_place(node, event)
        node.size += sum(child.size for child in node.children)
        node.height += max((child.height for child in node.children), default=0)
        if node.size > MAX_NODES:
            self._stop(
                "too-large",
                node.place,
                f"more than {MAX_NODES} values once its aliases are spelled out",
                "write out what is meant",
            )
        if node.is_mapping:
            self._check_keys(node)

    def _check_keys(self, node: Collection) -> None:
        seen: dict[str, Place] = {}
        for key, value in node.pairs:
            if isinstance(key, Scalar) and key.merges:
                self._check_merge(value)
            if isinstance(key, Collection):
                self._refuse("yaml-key", key.place, "a key is one word or text, not a list or a mapping", _BRACES)
            elif not isinstance(key.value, str):
                written = "" if key.value is None else json.dumps(key.value)
                self._refuse(
                    "yaml-key",
                    key.place,
                    f"a key is text, and {written or 'nothing'} is not",
                    f'quote it: "{written}"',
                    label="quote it",
                )
            elif key.value in seen:
                related = (Related(seen[key.value], "first written here"),)
                self._refuse(
                    "duplicate-key",
                    key.place,
                    f"{key.value} is written twice",
                    "keep one of the two",
                    label="written again",
                    related=related,
                )
            else:
                seen[key.value] = key.place

    def _check_merge(self, value: Node) -> None:
        parts = [value] if isinstance(value, Scalar) or value.is_mapping else value.children
        for part in parts:
            if not (isinstance(part, Collection) and part.is_mapping):
                self._refuse(
                    "yaml-merge",
                    part.place,
                    "<< takes a mapping or a list of mappings",
                    "name an anchored mapping: <<: *name",
                )

    def _refuse(
        self, rule: str, place: Place, message: str, remedy: str, *, label: str = "", related: tuple[Related, ...] = ()
    ) -> None:
        self.diagnostics.append(
            Diagnostic(rule, Level.ERROR, message, place=place, label=label, remedy=remedy, related=related)
        )
        if len(self.diagnostics) >= MAX_DIAGNOSTICS:
            raise _Stop

    def _stop(self, rule: str, place: Place, message: str, remedy: str, related: tuple[Related, ...] = ()) -> NoReturn:
        self._refuse(rule, place, message, remedy, related=related)
        raise _Stop

    def explain(self, error: yaml.YAMLError) -> None:
        """Note, in words of ours, that the text is not YAML."""
        problem = str(getattr(error, "problem", None) or error).splitlines()[0]
        context, begin = getattr(error, "context", None), getattr(error, "context_mark", None)
        said = next((plain for sign, plain in _PLAIN_WORDS if sign in problem), f"this is not YAML: {problem}")
        place = self._point(getattr(error, "problem_mark", None))
        related = (Related(self._point(begin), str(context)),) if begin and self._point(begin) != place else ()
        self.diagnostics.append(Diagnostic("yaml-syntax", Level.ERROR, said, place=place, related=related))

    def _point(self, mark: Mark) -> Place:
        line, column = (mark.line, mark.column) if mark else (0, 0)
        line = min(line, len(self.lines) - 1)
        return Place(self.file, line + 1, column + 1, line + 1, column + 1)

    def _place(self, event: Event) -> Place:
        start, end = event.start_mark, event.end_mark
        return Place(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def _scalar_place(self, event: Event) -> Place:
        place = self._place(event)
        if event.anchor or event.tag:
            place = self._after_properties(place)
        if event.style in ("|", ">"):
            place = self._without_blank_end(place)
        return place

    def _after_properties(self, place: Place) -> Place:
        """`&name !!str value` -> where the value begins."""
        line, column = place.line, place.column
        while (line, column) < (place.end_line, place.end_column):
            end = _PROPERTY.match(self.lines[line - 1], column - 1).end()  # type: ignore[union-attr]  # (it matches "")
            if end == column - 1:
                break
            line, column = (
                (line + 1, 1) if end == len(self.lines[line - 1]) and line < place.end_line else (line, end + 1)
            )
        return replace(place, line=line, column=column)

    def _without_blank_end(self, place: Place) -> Place:
        """A block scalar ends, for YAML, where the next thing begins; for a reader, with its last line."""
        line = place.end_line if place.end_column > 1 else place.end_line - 1
        while line > place.line and not self.lines[line - 1].strip():
            line -= 1
        return replace(place, end_line=line, end_column=len(self.lines[line - 1]) + 1)

    def _collection_place(self, node: Collection, event: Event) -> Place:
        """A flow collection ends with its bracket, a block one with its last child."""
        if node.is_flow or not node.children:
            end = self._place(event)
            return replace(node.place, end_line=end.end_line, end_column=end.end_column)
        last = max((child.place for child in node.children[-2:]), key=lambda place: (place.end_line, place.end_column))
        return replace(node.place, end_line=last.end_line, end_column=last.end_column)


def compose(
    text: str, file: str, lines: tuple[str, ...], reader: Reader = FAST
) -> tuple[Node | None, list[Diagnostic]]:
    """The document in `text` and everything that is wrong with it, whichever reader is there."""
    composer = Composer(file, lines)
    try:
        return composer.compose(text, reader), composer.diagnostics
    except yaml.YAMLError as error:
        if reader is not PURE:
            # The readers differ a little in what they refuse and much in what they say: the slow one decides.
            return compose(text, file, lines, PURE)
        composer.explain(error)
        return None, composer.diagnostics
