"""What was written, with a place for every key and every value: one text, and several laid over one another."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from dsv4deploy.model.place import Place

# What a text can say. Mappings keep the order in which they were written.
Leaf: TypeAlias = "str | int | float | bool | None"
Tree: TypeAlias = "dict[str, Tree] | list[Tree] | Leaf"
# Where it says so: names of keys and indices of list items, from the top; `()` is the whole.
KeyPath: TypeAlias = tuple[str | int, ...]
# The lines of every text that a place can point into, by `Place.file`.
Sources: TypeAlias = Mapping[str, tuple[str, ...]]


class Document(NamedTuple):
    """One text that was read.

    Attributes:
        file: the name that its places bear.
        tree: plain values.
        keys: where each key stands, by the path of its value.
        values: where each value stands; `()` is the whole document. What comes from an alias or a merge key
            stands where the anchor is.
        lines: the text, for showing.
    """

    file: str
    tree: Tree
    keys: Mapping[KeyPath, Place]
    values: Mapping[KeyPath, Place]
    lines: tuple[str, ...]

    @property
    def sources(self) -> Sources:
        return {self.file: self.lines}


class Overlay(NamedTuple):
    """A mapping from profile paths to values that stands at `at` in some document, such as the changes of an arm."""

    document: Document
    at: KeyPath


@dataclass(frozen=True, slots=True)
class Merged:
    """Several documents laid over one another; each place names the layer that had the last word.

    Attributes:
        tree: the result, without `extends` and `variants`.
        keys: where each key was written last.
        values: where each value was written last.
        sources: the lines of all layers.
        files: the files read, the profile itself first, then its base, and so on.
        variants: the names of the variants it offers, in order.
    """

    tree: dict[str, Tree]
    keys: Mapping[KeyPath, Place] = field(default_factory=dict)
    values: Mapping[KeyPath, Place] = field(default_factory=dict)
    sources: Sources = field(default_factory=dict)
    files: tuple[str, ...] = ()
    variants: tuple[str, ...] = ()

    def place(self, path: KeyPath) -> Place | None:
        """Where the value at `path` was written, or the nearest mapping or list around it that was written at all."""
        for length in range(len(path), -1, -1):
            if place := self.values.get(path[:length]):
                return place
        return None

    def written(self, path: KeyPath) -> str:
        """The value at `path` letter by letter (`0.60`, not 0.6); empty if it spans lines or was not written."""
        place = self.values.get(path)
        if not place or place.line != place.end_line:
            return ""
        return self.sources[place.file][place.line - 1][place.column - 1 : place.end_column - 1]

    def leaves(self) -> dict[str, Leaf]:
        """Every single value by its dotted path."""
        return {dotted(path): value for path, value in _leaves((), self.tree)}


def dotted(path: KeyPath) -> str:
    """`path` as `--set` takes it: `hardware.devices[0]`, `env."my.key"`."""
    words = [f"[{step}]" if isinstance(step, int) else f".{_quoted(step)}" for step in path]
    return "".join(words).removeprefix(".")


def _leaves(path: KeyPath, tree: Tree) -> Iterator[tuple[KeyPath, Leaf]]:
    if isinstance(tree, dict | list):
        inner = tree.items() if isinstance(tree, dict) else enumerate(tree)
        for step, value in inner:
            yield from _leaves((*path, step), value)
    else:
        yield path, tree


def _quoted(key: str) -> str:
    return f'"{key}"' if not key or set(key) & set('.[]="') else key
