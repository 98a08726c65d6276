"""The reference page of profile keys: every field with its meaning, type, default, and the flag or variable it becomes."""

from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.model.profile import Env, Profile, Says

HEAD = """# Profile

Every key that a profile may have.
`extends: base.yaml` names one base profile, relative to the file; mappings merge, everything else replaces, `null` removes.
`variants: {name: {set: {path: value}}}` are overlays that `--variant name` lays over the profile; `--set path=value` comes last.
A key that is one engine flag shows the newest spelling; older engine versions get their own.
"""


def page() -> str:
    """docs/reference/profile.md."""
    blocks = [HEAD, *(_section(path, model) for path, model in _sections(Profile, ""))]
    return "\n".join(blocks)


def described(path: str) -> str | None:
    """One key as `dsv4deploy explain` tells it; None if a profile has no such key."""
    model: type[BaseModel] = Profile
    *above, name = path.split(".")
    for step in above:
        info = model.model_fields.get(step)
        inner = _model(info.annotation) if info else None
        if inner is None:
            return None
        model = inner
    info = model.model_fields.get(name)
    if info is None:
        return None
    inner = _model(info.annotation)
    if inner is not None:
        keys = "".join(f"  {key}: {below.description}\n" for key, below in inner.model_fields.items())
        return f"{path}: {info.description}\n{keys}"
    becomes = f"becomes: {_becomes(info)}\n" if _becomes(info) else ""
    return f"{path}: {info.description}\ntype: {_type(info.annotation)}\n{becomes}{_default(info)}"


def _sections(model: type[BaseModel], path: str) -> Iterator[tuple[str, type[BaseModel]]]:
    yield path, model
    for name, info in model.model_fields.items():
        inner = _model(info.annotation)
        if inner is not None and inner is not ModelFacts:
            yield from _sections(inner, f"{path}.{name}".lstrip("."))


def _section(path: str, model: type[BaseModel]) -> str:
    about = (model.__doc__ or "").strip()
    rows = [f"| `{name}` | {_row(info)} |" for name, info in model.model_fields.items()]
    head = ["| key | meaning | type | becomes |", "|---|---|---|---|"]
    return "\n".join([f"## {path or 'top level'}", "", about, "", *head, *rows, ""])


def _row(info: FieldInfo) -> str:
    required = " (required)" if info.is_required() else ""
    return f"{info.description}{required} | {_type(info.annotation)} | {_becomes(info)}"


def _becomes(info: FieldInfo) -> str:
    for note in info.metadata:
        if isinstance(note, Says):
            return f"`{note.flags[0]}`" + ("" if note.when else " when false")
        if isinstance(note, Env):
            return f"`{note.name}`"
    return ""


def _default(info: FieldInfo) -> str:
    if info.is_required():
        return "required\n"
    return f"default: {info.default}\n" if isinstance(info.default, int | float | str) else ""


def _type(annotation: Any) -> str:  # noqa: ANN401 (any annotation of a field)
    """The kind of value in the words of YAML; limits stand in the meaning and in the messages."""
    members = [member for member in _members(annotation) if member]
    return " or ".join(dict.fromkeys(members))


def _members(annotation: Any) -> Iterator[str]:  # noqa: ANN401 (likewise)
    origin, arguments = get_origin(annotation), get_args(annotation)
    if annotation is type(None):
        return
    if hasattr(annotation, "__metadata__"):
        yield from _members(annotation.__origin__)
    elif origin in (dict, tuple, list):
        yield "mapping" if origin is dict else "list"
    elif arguments and all(isinstance(argument, str | int) for argument in arguments):
        yield from (f"`{argument}`" for argument in arguments)
    elif arguments:
        for argument in arguments:
            yield from _members(argument)
    else:
        yield _WORDS.get(annotation, "mapping" if _model(annotation) else "any")


_WORDS: dict[Any, str] = {int: "whole number", float: "number", str: "string", bool: "true or false"}


def _model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 (likewise)
    return annotation if isinstance(annotation, type) and issubclass(annotation, BaseModel) else None
