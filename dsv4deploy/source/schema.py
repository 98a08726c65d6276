"""Questions to a Pydantic model by key path: which keys are known here, and what is known of this one."""

from collections.abc import Iterator, Mapping
from types import UnionType
from typing import Annotated, Any, TypeAlias, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dsv4deploy.model.document import KeyPath
from dsv4deploy.model.profile.section import Env, Says

Annotation: TypeAlias = Any  # what typing knows: a class, a union, an alias, a literal

_UNIONS: tuple[Annotation, ...] = (Union, UnionType)
_BOUNDS = (("ge", "at least"), ("gt", "above"), ("le", "at most"), ("lt", "below"))


def known_keys(model: type[BaseModel], path: KeyPath, tags: frozenset[str]) -> list[str]:
    """The keys that the mapping at `path` may have, sorted; `tags` names the union member that was tried, if any."""
    found = list(models(model, path))
    tried = [one for one in found if one.__name__ in tags or tags & _discriminators(one)] or found
    return sorted({name for one in tried for name in _names(one)})


def homes(model: type[BaseModel], word: str) -> list[KeyPath]:
    """Where `word` would be at home: keys of that name, and keys that stand for the engine's flag or variable of it."""
    wanted = _plain(word)
    return [path for path, info in _keys(model, (), (model,)) if wanted in (_plain(str(path[-1])), *_said_by(info))]


def field(model: type[BaseModel], path: KeyPath) -> FieldInfo | None:
    """What the model says of the key at the end of `path`; None for items of lists and of free mappings."""
    for owner in models(model, path[:-1]) if path else ():
        if path[-1] in _names(owner):
            return _names(owner)[str(path[-1])]
    return None


def limits(info: FieldInfo | None) -> str:
    """`at least 1, at most 8`; empty if the field has no bounds."""
    names = [name for name, _ in _BOUNDS]
    parts = list(_constraints(info))
    return bounds(
        {name: getattr(part, name) for part in parts for name in names if getattr(part, name, None) is not None}
    )


def bounds(numbers: Mapping[str, float]) -> str:
    """The same for bounds by their Pydantic names: `{"ge": 1}`."""
    return ", ".join(f"{words} {numbers[name]:.15g}" for name, words in _BOUNDS if name in numbers)


def unit(info: FieldInfo | None) -> str:
    """The unit that a field carries as `json_schema_extra={"unit": "s"}`; empty if it has none."""
    extra = info.json_schema_extra if info else None
    return str(extra.get("unit", "")) if isinstance(extra, dict) else ""


def models(annotation: Annotation, path: KeyPath = ()) -> Iterator[type[BaseModel]]:
    """The models that the value at `path` below `annotation` may be."""
    for one in reached(annotation, path):
        if isinstance(one, type) and issubclass(one, BaseModel):
            yield one


def reached(annotation: Annotation, path: KeyPath) -> Iterator[Annotation]:
    """What the value at `path` below `annotation` may be; nothing if there is no such path."""
    for one in _members(annotation):
        if not path:
            yield one
            continue
        for below in _below(one, path[0]):
            yield from reached(below, path[1:])


def _keys(
    model: type[BaseModel], path: KeyPath, way: tuple[type[BaseModel], ...]
) -> Iterator[tuple[KeyPath, FieldInfo]]:
    for name, info in _names(model).items():
        yield (*path, name), info
        for below in models(info.annotation):
            if below not in way:  # a model may hold itself
                yield from _keys(below, (*path, name), (*way, below))


def _said_by(info: FieldInfo) -> list[str]:
    flags = [flag for note in info.metadata if isinstance(note, Says) for flag in note.flags]
    return [_plain(word) for word in (*flags, *(note.name for note in info.metadata if isinstance(note, Env)))]


def _plain(word: str) -> str:
    return word.lstrip("-").replace("-", "_").lower()


def _names(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {info.alias or name: info for name, info in model.model_fields.items()}


def _constraints(part: Annotation) -> Iterator[Annotation]:
    """Everything that narrows a field, also inside `Annotated[float, Field(gt=0)] | None`."""
    origin: Annotation = get_origin(part)
    if isinstance(part, FieldInfo):
        inner: list[Annotation] = [*part.metadata, part.annotation]
    elif origin is Annotated or origin in _UNIONS:
        inner = list(get_args(part))
    else:
        inner = []
        yield part
    for one in inner:
        yield from _constraints(one)


def _discriminators(model: type[BaseModel]) -> set[str]:
    fixed = (info.annotation for info in model.model_fields.values() if len(get_args(info.annotation)) == 1)
    return {value for annotation in fixed for value in get_args(annotation) if isinstance(value, str)}


def _members(annotation: Annotation) -> Iterator[Annotation]:
    origin: Annotation = get_origin(annotation)
    if hasattr(annotation, "__value__"):  # a `type X = ...` of Python 3.12
        yield from _members(annotation.__value__)
    elif origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in _UNIONS:
        for member in get_args(annotation):
            yield from _members(member)
    else:
        yield annotation


def _below(annotation: Annotation, step: str | int) -> Iterator[Annotation]:
    args = get_args(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        if step in _names(annotation):
            yield _names(annotation)[str(step)].annotation
    elif isinstance(step, str):
        # A mapping of names to values: its last argument is what a value is.
        yield from args[1:2]
    else:
        yield from (arg for arg in args if arg is not Ellipsis)
