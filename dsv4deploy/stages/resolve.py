"""Lay a profile over its base, variants over that and `--set` over all, without losing where anything was written.

Mappings merge deep; lists and single values replace; `null` removes what a layer below has put there.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused, Related
from dsv4deploy.model.document import Document, KeyPath, Merged, Overlay, Sources, Tree, dotted
from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.place import Place
from dsv4deploy.source.document import load_value

EXTENDS = "extends"
VARIANTS = "variants"
SET = "--set "
VARIANT = "--variant "

_STEP = re.compile(r"""(?:(?:^|(?<!^)\.)(?:"(?P<quoted>[^"]+)"|(?P<key>[^.\[\]="]+))|\[(?P<index>[0-9]{1,4})\])""")
_EXAMPLES = 'paths look like memory.fraction_static, hardware.devices[0] or env."my.key"'


def resolve(
    chain: Sequence[Document],
    variants: Sequence[str] = (),
    sets: Sequence[str] = (),
    overlays: Sequence[Overlay] = (),
) -> Merged:
    """One tree from `chain` (the base first, the profile last), then named variants, overlays and `--set` texts.

    Raises:
        Refused: a variant that is malformed or does not exist, a `--set` that cannot be read or does not fit.
    """
    ground = _Ground()
    for document in chain:
        ground.sources |= document.sources
        ground.lay(document, (), ())
    offered = _Layer({VARIANTS: ground.tree.get(VARIANTS)}, dict(ground.keys), dict(ground.values))
    ground.remove((EXTENDS,))
    ground.remove((VARIANTS,))
    names = _offered_names(offered, ground.sources)
    layers = [partial(_lay_variant, ground, offered, name, names) for name in variants]
    layers += [partial(_lay_overlay, ground, overlay) for overlay in overlays]
    _lay_all(ground, [*layers, *(partial(_lay_set, ground, text) for text in sets)])
    files = tuple(document.file for document in reversed(chain))
    return Merged(ground.tree, ground.keys, ground.values, ground.sources, files, names)


class _Layer(NamedTuple):
    tree: Tree
    keys: Mapping[KeyPath, Place]
    values: Mapping[KeyPath, Place]


@dataclass(slots=True)
class _Ground:
    """The tree that grows layer by layer, and where each part of it was written last."""

    tree: dict[str, Tree] = field(default_factory=dict)
    keys: dict[KeyPath, Place] = field(default_factory=dict)
    values: dict[KeyPath, Place] = field(default_factory=dict)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def lay(self, layer: Document | _Layer, start: KeyPath, target: KeyPath) -> None:
        """Lay what stands at `start` in `layer` over `target`, whose parent exists."""
        value, below = _at(layer.tree, start), _at(self.tree, target)
        if isinstance(value, dict) and isinstance(below, dict):
            self._note(layer, start, target)
            for key in value:
                self.lay(layer, (*start, key), (*target, key))
        elif value is None and below is not None and isinstance(target[-1], str):
            self.remove(target)
        else:
            self._forget(target)
            self._hang(target, _copy(value))
            for path in _paths(value):
                self._note(layer, (*start, *path), (*target, *path))

    def put(self, path: KeyPath, at: Place, layer: Document | _Layer, start: KeyPath) -> None:
        """As `lay`, for a `path` that was written in one piece at `at`; mappings on the way come into being."""
        if path[0] in (EXTENDS, VARIANTS):
            raise _refused(at, f"{path[0]} is read from files only", f"write {path[0]} into the profile", self.sources)
        for length in range(1, len(path)):
            above = path[:length]
            if _at(self.tree, above) is None:
                self._step_into(above, path[length - 1], at)
                self._hang(above, {})
                self.keys[above] = self.values[above] = at
        self._step_into(path, path[-1], at)
        self.lay(layer, start, path)
        if path in self.values:
            self.keys[path] = at

    def remove(self, path: KeyPath) -> None:
        """Take away what stands at `path`, if anything does."""
        parent = _at(self.tree, path[:-1])
        if isinstance(parent, dict):
            parent.pop(str(path[-1]), None)
            self._forget(path)

    def _forget(self, path: KeyPath) -> None:
        if path in self.values:
            for places in (self.keys, self.values):
                for gone in [found for found in places if found[: len(path)] == path]:
                    del places[gone]

    def _step_into(self, path: KeyPath, step: str | int, at: Place) -> None:
        parent = _at(self.tree, path[:-1])
        fits = isinstance(parent, dict) if isinstance(step, str) else isinstance(parent, list) and step <= len(parent)
        if not fits:
            owner = dotted(path[:-1]) or "the profile"
            wanted = f"no key {step}" if isinstance(step, str) else f"no item {step}"
            has = f"has {len(parent)} items" if isinstance(parent, list) else f"is {_kind(parent)}"
            related = (Related(self.values[path[:-1]], "written here"),) if path[:-1] in self.values else ()
            raise _refused(at, f"{owner} {has}: it has {wanted}", _EXAMPLES, self.sources, related)

    def _hang(self, path: KeyPath, value: Tree) -> None:
        parent, step = _at(self.tree, path[:-1]), path[-1]
        if isinstance(parent, dict):
            parent[str(step)] = value
        elif isinstance(parent, list) and isinstance(step, int):
            parent[step : step + 1] = [value]

    def _note(self, layer: Document | _Layer, start: KeyPath, target: KeyPath) -> None:
        self.values[target] = layer.values[start]
        if start in layer.keys:
            self.keys[target] = layer.keys[start]


def _lay_all(ground: _Ground, layers: Iterable[Callable[[], None]]) -> None:
    found: list[Diagnostic] = []
    for lay in layers:
        try:
            lay()
        except Refused as refused:
            found += refused.diagnostics
            # What a layer of the command line was read from has blanks where its path stands: the text itself is shown.
            ground.sources = {**refused.sources, **ground.sources}
    if found:
        raise Refused(found, ground.sources)


def _offered_names(offered: _Layer, sources: Sources) -> tuple[str, ...]:
    """The names of all variants; every one is looked at, also those that are not wanted today."""
    variants = _at(offered.tree, (VARIANTS,))
    found = []
    if variants is not None and not isinstance(variants, dict):
        found = [_shape(offered, (VARIANTS,), "variants is a mapping of names, each with `set`")]
    names = tuple(variants) if isinstance(variants, dict) else ()
    for name in names:
        variant = _at(offered.tree, (VARIANTS, name))
        overlay = variant.get("set") if isinstance(variant, dict) else None
        if not isinstance(variant, dict) or set(variant) != {"set"} or not isinstance(overlay, dict):
            found.append(
                _shape(
                    offered, (VARIANTS, name), f"a variant is one mapping `set` of what it changes, and {name} is not"
                )
            )
    if found:
        raise Refused(found, sources)
    return names


def _lay_variant(ground: _Ground, offered: _Layer, name: str, names: tuple[str, ...]) -> None:
    if name not in names:
        raise _unknown_variant(ground, offered, name, names)
    _lay_paths(ground, offered, (VARIANTS, name, "set"))


def _lay_overlay(ground: _Ground, overlay: Overlay) -> None:
    ground.sources |= overlay.document.sources
    _lay_paths(ground, overlay.document, overlay.at)


def _lay_paths(ground: _Ground, layer: Document | _Layer, above: KeyPath) -> None:
    """Lay what stands at `above`, a mapping from paths to values."""
    changes = _at(layer.tree, above)
    for key in changes if isinstance(changes, dict) else ():
        at = layer.keys[*above, key]
        path = _path(key)
        if path is None:
            raise _refused(at, f"{key} is no path into a profile", _EXAMPLES, ground.sources)
        ground.put(path, at, layer, (*above, key))


def _unknown_variant(ground: _Ground, offered: _Layer, name: str, names: tuple[str, ...]) -> Refused:
    near = nearest(name, names)
    message = f"there is no variant {name}" + (f"; did you mean {near}?" if near else "")
    remedy = f"one of {', '.join(sorted(names))}" if names else "the profile offers none: leave it out"
    place = Place(f"{VARIANT}{name}", 1, 1, 1, len(name) + 1)
    where = offered.keys.get((VARIANTS,))
    related = (Related(where, "these are offered"),) if where else ()
    found = Diagnostic("unknown-variant", Level.ERROR, message, place=place, remedy=remedy, related=related)
    return Refused((found,), {**ground.sources, place.file: (name,)})


def _lay_set(ground: _Ground, text: str) -> None:
    file = f"{SET}{text}"
    ground.sources[file] = (text,)
    written, equals, value = _split(text)
    at = Place(file, 1, 1, 1, len(written) + 1)
    path = _path(written)
    if path is None or not equals:
        raise _refused(at, f"{text} is no path=value", _EXAMPLES, ground.sources)
    # Blanks in front, so that places count from the beginning of the whole text.
    document = load_value((" " * (len(written) + 1) + value).encode("utf-8", "surrogatepass"), file)
    root = document.values[()]
    if document.tree is None and (root.line, root.column) == (root.end_line, root.end_column):
        remedy = f"{written}=null removes it, {written}='\"\"' is an empty text; quote a value that begins with #"
        raise _refused(at, f"{text} gives no value", remedy, ground.sources)
    ground.put(path, at, _Layer(document.tree, document.keys, document.values), ())


def _split(text: str) -> tuple[str, str, str]:
    """`path=value`, where a quoted key may hold a `=`."""
    end = 0
    while step := _STEP.match(text, end):
        end = step.end()
    return (text[:end], "=", text[end + 1 :]) if text[end : end + 1] == "=" else (text, "", "")


def _path(text: str) -> KeyPath | None:
    """`a."b.c"[0]` as steps; None if it is no path."""
    steps: list[str | int] = []
    end = 0
    while end < len(text):
        step = _STEP.match(text, end)
        if not step:
            return None
        steps.append(int(step["index"]) if step["index"] else step["quoted"] or step["key"])
        end = step.end()
    return tuple(steps) if steps and isinstance(steps[0], str) else None


def _at(tree: Tree, path: KeyPath) -> Tree:
    """The value at `path`; None if there is none."""
    for step in path:
        if isinstance(tree, dict):
            tree = tree.get(str(step))
        elif isinstance(tree, list) and isinstance(step, int) and step < len(tree):
            tree = tree[step]
        else:
            return None
    return tree


def _paths(tree: Tree, above: KeyPath = ()) -> Iterator[KeyPath]:
    yield above
    if isinstance(tree, dict):
        for key, value in tree.items():
            yield from _paths(value, (*above, key))
    elif isinstance(tree, list):
        for index, value in enumerate(tree):
            yield from _paths(value, (*above, index))


def _copy(tree: Tree) -> Tree:
    if isinstance(tree, dict):
        return {key: _copy(value) for key, value in tree.items()}
    return [_copy(value) for value in tree] if isinstance(tree, list) else tree


def _kind(value: Tree) -> str:
    if isinstance(value, dict):
        return "a mapping"
    return "a list" if isinstance(value, list) else "a single value"


def _shape(layer: _Layer, path: KeyPath, message: str) -> Diagnostic:
    return Diagnostic(
        "variant-shape", Level.ERROR, message, place=layer.values.get(path), remedy=f"{dotted(path)}: {{set: {{...}}}}"
    )


def _refused(place: Place, message: str, remedy: str, sources: Sources, related: tuple[Related, ...] = ()) -> Refused:
    return Refused(
        (Diagnostic("set-path", Level.ERROR, message, place=place, remedy=remedy, related=related),), sources
    )
