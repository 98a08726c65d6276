"""YAML text -> a graph of nodes with places; bounded in depth and size whatever the text is."""

import json
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

import yaml

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related
from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.place import Place
from dsv4deploy.source.marks import Event, Marks, not_yaml
from dsv4deploy.source.scalars import Surprise, meaning

MAX_DEPTH = 50
MAX_NODES = 20_000
# A file full of mistakes of one kind needs no thousand lines of output.
MAX_DIAGNOSTICS = 100

Reader: TypeAlias = Callable[[str], Any]
PURE: Reader = yaml.SafeLoader
# The loader in C is nine times faster and gives the same marks; not every PyYAML is built with it.
FAST: Reader = getattr(yaml, "CSafeLoader", PURE)

_STRING_TAG = "tag:yaml.org,2002:str"
_ONE_DOCUMENT = "keep one document a file: remove this line and what follows"
_FLATTER = "no profile needs this: was another file meant?"
_BRACES = "a value such as {{ name }} or {name} must be quoted"
_UNSPEAKABLE = re.compile("[\0\ud800-\udfff]")


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

    marks: Marks
    diagnostics: list[Diagnostic] = field(default_factory=list)
    _anchors: dict[str, Node] = field(default_factory=dict)
    _open: list[Collection] = field(default_factory=list)
    _root: Node | None = None
    _documents: int = 0
    _nodes: int = 0
    _last: Place | None = None

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
            node = self._scalar(event)
            self._last = node.place
            self._add(node, event.anchor)
        elif kind is yaml.MappingStartEvent or kind is yaml.SequenceStartEvent:
            self._begin(event)
        elif kind is yaml.MappingEndEvent or kind is yaml.SequenceEndEvent:
            self._end(event)
        elif kind is yaml.AliasEvent:
            self._last = self.marks.place(event)
            self._add(self._alias(event))
        elif kind is yaml.DocumentStartEvent:
            self._documents += 1
            if self._documents > 1:
                self._stop("yaml-documents", self.marks.place(event), "a second document begins here", _ONE_DOCUMENT)

    def _scalar(self, event: Event) -> Scalar:
        text, place = event.value, self.marks.scalar(event)
        if _UNSPEAKABLE.search(text):
            self._refuse(
                "yaml-text", place, "a NUL or half a surrogate pair, which no program can be given", "remove it"
            )
        if event.tag and event.tag != _STRING_TAG:
            self._refuse_tag(event)
        if event.tag or not event.implicit[0]:
            return Scalar(text, place)
        value = meaning(text)
        if isinstance(value, Surprise):
            remedy = f'quote it if it is text: "{text}"; a number is written with plain digits'
            self._refuse("quote-it", place, f"{text} is {value.meaning}", remedy, label="quote it")
            return Scalar(text, place)
        return Scalar(value, place, merges=text == "<<")

    def _alias(self, event: Event) -> Node:
        name, place = event.anchor, self.marks.place(event)
        target = self._anchors.get(name)
        if target is None:
            near = nearest(name, self._anchors)
            remedy = f"did you mean *{near}?" if near else f"write &{name} before the value it stands for"
            self._stop("yaml-alias", place, f"nothing above is named &{name}", remedy)
        if isinstance(target, Collection) and target.is_open:
            related = (Related(target.place, "named here"),)
            self._stop("yaml-alias", place, f"*{name} stands inside what it names", "write out what is meant", related)
        if len(self._open) + target.height > MAX_DEPTH:
            self._stop("too-deep", place, f"deeper than {MAX_DEPTH} levels once *{name} is spelled out", _FLATTER)
        return target

    def _begin(self, event: Event) -> None:
        place = self.marks.place(event)
        if len(self._open) >= MAX_DEPTH:
            self._stop("too-deep", place, f"nested deeper than {MAX_DEPTH} levels", _FLATTER)
        if event.tag:
            self._refuse_tag(event)
        node = Collection(type(event) is yaml.MappingStartEvent, place, bool(event.flow_style))
        self._add(node, event.anchor)
        self._open.append(node)

    def _add(self, node: Node, anchor: str | None = None) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._stop("too-large", node.place, f"more than {MAX_NODES} values in one file", "split the file")
        if anchor:
            self._anchors[anchor] = node
        if self._open:
            self._open[-1].children.append(node)
        else:
            self._root = node

    def _end(self, event: Event) -> None:
        node = self._open.pop()
        node.is_open = False
        if node.is_flow or self._last is None:
            self._last = self.marks.place(event)
        # A block collection ends, for YAML, where the next thing begins; for a reader, with what it holds last.
        node.place = node.place._replace(end_line=self._last.end_line, end_column=self._last.end_column)
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

    def _refuse_tag(self, event: Event) -> None:
        tag = event.tag.replace("tag:yaml.org,2002:", "!!")
        self._refuse(
            "yaml-tag", self.marks.place(event), f"the tag {tag} means nothing here", "remove it; quote what is text"
        )

    def _stop(self, rule: str, place: Place, message: str, remedy: str, related: tuple[Related, ...] = ()) -> NoReturn:
        self._refuse(rule, place, message, remedy, related=related)
        raise _Stop


def compose(
    text: str, file: str, lines: tuple[str, ...], reader: Reader = FAST
) -> tuple[Node | None, list[Diagnostic]]:
    """The document in `text` and everything that is wrong with it.

    The readers differ a little in what they refuse and much in what they say. So the fast one only has the last word
    on what is right: a text that it refuses, or that holds tabs (it takes some that look like indentation), is read
    by the slow one.
    """
    if reader is not PURE and "\t" not in text:
        root, found = _composed(text, Marks(file, lines), reader)
        if not found:
            return root, found
    return _composed(text, Marks(file, lines), PURE)


def _composed(text: str, marks: Marks, reader: Reader) -> tuple[Node | None, list[Diagnostic]]:
    composer = Composer(marks)
    try:
        return composer.compose(text, reader), composer.diagnostics
    except yaml.YAMLError as error:
        return None, [*composer.diagnostics, not_yaml(error, marks)]
