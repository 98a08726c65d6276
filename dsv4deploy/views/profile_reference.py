"""The reference of keys, of a profile and of a patch: every field with its meaning, type, default, and what it becomes."""

import re
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from dsv4deploy.model.experiment import Experiment
from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.model.patch import About
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.profile.section import Env, Says
from dsv4deploy.source import schema

HEAD = """# Profile

Every key that a profile may have.
`extends: base.yaml` names one base profile, relative to the file; mappings merge, everything else replaces, `null` removes.
`variants: {name: {set: {path: value}}}` are overlays that `--variant name` lays over the profile; `--set path=value` comes last.
A key that is one engine flag shows the newest spelling; older engine versions get their own.
"""

PATCH_HEAD = """# Patch

Every key that the `patch.yaml` of a patch may have; [patches.md](../patches.md) shows one.
"""
# The first word of a key that is none of a profile.
ROOTS: dict[str, type[BaseModel]] = {"patch": About, "experiment": Experiment}
_STEP = re.compile(r"\[(\d+)\]|([^.\[\]]+)")


def page() -> str:
    """docs/reference/profile.md."""
    return "\n".join([HEAD, *(_section(path, model) for path, model in _sections(Profile, ""))])


def patch_page() -> str:
    """docs/reference/patch.md."""
    return "\n".join([PATCH_HEAD, *(_section(path, model) for path, model in _sections(About, ""))])


def described(path: str) -> str | None:
    """One key as `dsv4deploy explain` tells it; None if there is none like that.

    It is one of a profile, of a patch below `patch.`, or of an experiment below `experiment.`; a key that stands in a
    free mapping is told by what holds it.
    """
    word, _, below = path.partition(".")
    root = ROOTS.get(word, Profile)
    if path in ROOTS:
        return f"{path}: {root.__doc__}\n{_keys(root)}"
    text = below if word in ROOTS else path
    steps = tuple(int(index) if index else name for index, name in _STEP.findall(text))
    if not any(True for _ in schema.reached(root, steps)):
        return None
    info = next((found for end in range(len(steps), 0, -1) if (found := schema.field(root, steps[:end]))), None)
    if info is None:
        return None
    inner = _model(info.annotation)
    if inner is not None:
        return f"{path}: {info.description}\n{_keys(inner)}"
    becomes = f"becomes: {_becomes(info)}\n" if _becomes(info) else ""
    return f"{path}: {info.description}\ntype: {_type(info.annotation)}\n{becomes}{_default(info)}"


def _keys(model: type[BaseModel]) -> str:
    return "".join(f"  {key}: {below.description}\n" for key, below in model.model_fields.items())


def _sections(model: type[BaseModel], path: str) -> Iterator[tuple[str, type[BaseModel]]]:
    yield path, model
    for name, info in model.model_fields.items():
        inner = _model(info.annotation)
        if inner is not None and inner is not ModelFacts:
            many = "" if any(schema.models(info.annotation)) else "[]"
            yield from _sections(inner, f"{path}.{name}{many}".lstrip("."))


def _section(path: str, model: type[BaseModel]) -> str:
    about = (model.__doc__ or "").strip()
    fields = model.model_fields
    becomes = any(map(_becomes, fields.values()))
    rows = [f"| `{name}` | {_row(info)} |{f' {_becomes(info)} |' if becomes else ''}" for name, info in fields.items()]
    head = ["| key | meaning | type |", "|---|---|---|"]
    if becomes:
        head = ["| key | meaning | type | becomes |", "|---|---|---|---|"]
    return "\n".join([f"## {path or 'top level'}", "", about, "", *head, *rows, ""])


def _row(info: FieldInfo) -> str:
    required = " (required)" if info.is_required() else ""
    return f"{info.description}{required} | {_type(info.annotation)}"


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
        yield _WORDS.get(annotation, "mapping" if any(schema.models(annotation)) else "any")


_WORDS: dict[Any, str] = {int: "whole number", float: "number", str: "string", bool: "true or false"}


def _model(annotation: Any) -> type[BaseModel] | None:  # noqa: ANN401 (likewise)
    """The model of a value, or of each item of a list."""
    return next((one for path in ((), (0,)) for one in schema.models(annotation, path)), None)
