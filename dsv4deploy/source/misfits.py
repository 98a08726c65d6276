"""What Pydantic found, in words for the person who wrote it."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic import BaseModel
from pydantic_core import ErrorDetails

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.document import KeyPath, Merged, Tree, dotted
from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.place import Place
from dsv4deploy.model.shapes import SHAPES
from dsv4deploy.source import schema

_KINDS = {
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "string_type": "a string",
    "path_type": "a path",
    "list_type": "a list",
    "tuple_type": "a list",
    "set_type": "a list",
    "frozen_set_type": "a list",
    "dict_type": "a mapping",
    "mapping_type": "a mapping",
    "model_type": "a mapping",
    "dataclass_type": "a mapping",
    "none_required": "null",
}
_CHOICES = ("literal_error", "enum")
_BOUNDS = ("greater_than", "greater_than_equal", "less_than", "less_than_equal")
_CHOICE = re.compile(r"'((?:[^'\\\\]|\\\\.)*)'|([^\s',]+)(?=,| or |$)")
_PREFIX = re.compile("^(?:Value error, |Assertion failed, |Input should be )")
_FEW = 3
_YES = {"yes", "on", "y", "true", "1"}
_NO = {"no", "off", "n", "false", "0"}


@dataclass(frozen=True, slots=True)
class Misfit:
    """One error of Pydantic's at its key path, and the first union on the way with the member that was tried."""

    error: ErrorDetails
    path: KeyPath
    union: KeyPath | None = None
    member: str = ""
    is_key: bool = False

    @property
    def is_of_another_kind(self) -> bool:
        return self.error["type"] in _KINDS or self.error["type"] in _CHOICES


def told(group: Sequence[Misfit], merged: Merged, model: type[BaseModel], what: str) -> Diagnostic:
    """The diagnostic for misfits of one value: one, or those of all members of a union."""
    telling = _Telling(merged, model, group[0], what)
    kind = group[0].error["type"]
    if len(group) > 1 or kind in _KINDS:
        return telling.wrong_type([misfit.error for misfit in group])
    return next((tell for kinds, tell in _TELLERS if kind in kinds), _Telling.invalid)(telling)


@dataclass(frozen=True, slots=True)
class _Telling:
    merged: Merged
    model: type[BaseModel]
    misfit: Misfit
    what: str

    @property
    def name(self) -> str:
        return self._named(self.misfit.path)

    def _named(self, path: KeyPath) -> str:
        return dotted(path) or f"the {self.what}"

    def wrong_type(self, errors: Sequence[ErrorDetails]) -> Diagnostic:
        value = self.misfit.error["input"]
        choices = [word for error in errors for word in _choices(error)]
        kinds = [_KINDS.get(error["type"], _said(error)) for error in errors if error["type"] not in _CHOICES]
        wanted = " or ".join(dict.fromkeys([*choices, *kinds]))
        if choices and isinstance(value, str):
            near = _did_you_mean(value, choices)
            return self._diagnostic("invalid-value", f"{self.name} cannot be {_shown(value)}{near}", f"write {wanted}")
        remedy = _mended(value, kinds, self.merged.written(self.misfit.path)) or f"write {wanted}{self._keys(kinds)}"
        return self._diagnostic("wrong-type", f"{self.name}: expected {wanted}, got {_got(value)}", remedy)

    def _keys(self, kinds: Sequence[str]) -> str:
        """What a mapping that was expected consists of."""
        known = schema.known_keys(self.model, self.misfit.path, frozenset({self.misfit.member}))
        return f" of {', '.join(known)}" if known and kinds == ["a mapping"] else ""

    def unknown_key(self) -> Diagnostic:
        *above, key = self.misfit.path
        known = schema.known_keys(self.model, tuple(above), frozenset({self.misfit.member}))
        inside = f" in {dotted(tuple(above))}" if above else ""
        message = f"unknown key {key}{inside}{self._at_home(str(key)) or _did_you_mean(str(key), known)}"
        place = self.merged.keys.get(self.misfit.path)
        return self._diagnostic("unknown-key", message, f"known here: {', '.join(known)}", place, "unknown here")

    def _at_home(self, key: str) -> str:
        """Where the key was meant to stand, if it has one home, or two or three."""
        above = self.misfit.path[:-1]
        everywhere = schema.homes(self.model, key)
        homes = [home for home in everywhere if home[: len(above)] == above] or everywhere
        names = [str(home[-1]) if home[:-1] == above else dotted(home) for home in homes]
        return f"; did you mean {' or '.join(names)}?" if 0 < len(names) <= _FEW else ""

    def missing_key(self, key: str = "") -> Diagnostic:
        path = (*self.misfit.path, key) if key else self.misfit.path
        place = self.merged.keys.get(path[:-1]) or self.merged.place(path[:-1])
        info = schema.field(self.model, path)
        about = f": {info.description}" if info and info.description else ""
        return self._diagnostic(
            "missing-key",
            f"{self._named(path[:-1])} lacks {path[-1]}",
            f"add `{path[-1]}:`{about}",
            place,
            f"{path[-1]} is missing here",
        )

    def missing(self) -> Diagnostic:
        if isinstance(self.misfit.path[-1], int):
            return self.invalid()
        return self.missing_key()

    def missing_tag(self) -> Diagnostic:
        return self.missing_key(str(self.misfit.error["ctx"]["discriminator"]).strip("'"))

    def out_of_range(self) -> Diagnostic:
        info = schema.field(self.model, self.misfit.path)
        limits = schema.limits(info) or schema.bounds(self.misfit.error["ctx"])
        unit = schema.unit(info)
        value = self.merged.written(self.misfit.path) or self.misfit.error["input"]
        message = f"{self.name} is {value}, out of range: {limits}" + (f" ({unit})" if unit else "")
        return self._diagnostic("out-of-range", message, f"write a number {limits}")

    def wrong_choice(self) -> Diagnostic:
        choices = _choices(self.misfit.error)
        return self._choice(self.misfit.path, self.misfit.error["input"], choices)

    def wrong_tag(self) -> Diagnostic:
        context = self.misfit.error["ctx"]
        path = (*self.misfit.path, context["discriminator"].strip("'"))
        return self._choice(path, context["tag"], _listed(context["expected_tags"]))

    def invalid(self) -> Diagnostic:
        error = self.misfit.error
        said, context, value = _said(error), error.get("ctx", {}), error["input"]
        shape = SHAPES.get(context.get("pattern", ""))
        remedy = context.get("remedy") or (f"write it like {shape.like}" if shape else self._reference())
        if self.misfit.is_key:
            owner = dotted(self.misfit.path[:-1])
            place = self.merged.keys.get(self.misfit.path)
            return self._diagnostic(
                "invalid-key", f"{owner} cannot have the key {_shown(value)}: {said}", remedy, place
            )
        shown = "" if isinstance(value, dict | list) else f" is {_shown(value)}"
        return self._diagnostic("invalid-value", f"{self.name}{shown}: {said}", remedy)

    def _reference(self) -> str:
        if self.what == "rule":
            return "write it as the rules that ship with the program do: dsv4deploy/rules/FAMILY/ID.yaml"
        path = dotted(self.misfit.path[:-1] if self.misfit.is_key else self.misfit.path)
        if self.what != "profile":
            path = f"{self.what}.{path}".rstrip(".")
        return f"dsv4deploy {f'explain {path}' if path else 'schema'} says what it takes"

    def _choice(self, path: KeyPath, value: Tree, choices: Sequence[str]) -> Diagnostic:
        message = f"{dotted(path)} cannot be {_shown(value)}{_did_you_mean(str(value), choices)}"
        remedy = f"one of {', '.join(sorted(choices))}" if len(choices) > 1 else f"write {''.join(choices)}"
        return self._diagnostic("invalid-value", message, remedy, self.merged.values.get(path))

    def _diagnostic(
        self, rule: str, message: str, remedy: str, place: Place | None = None, label: str = ""
    ) -> Diagnostic:
        info = schema.field(self.model, self.misfit.path)
        about = label or (info.description if info and info.description else "").split(". ")[0]
        place = place or self.merged.place(self.misfit.path)
        names = (f"{self.what}:{dotted(self.misfit.path)}",)
        return Diagnostic(rule, Level.ERROR, message, names, place, about, remedy=remedy)


_TELLERS: tuple[tuple[tuple[str, ...], Callable[[_Telling], Diagnostic]], ...] = (
    (("extra_forbidden",), _Telling.unknown_key),
    (("missing",), _Telling.missing),
    (("union_tag_not_found",), _Telling.missing_tag),
    (("union_tag_invalid",), _Telling.wrong_tag),
    (_BOUNDS, _Telling.out_of_range),
    (_CHOICES, _Telling.wrong_choice),
)
_FORMS = {
    "missing": "an item is missing",
    "too_short": "at least {min_length} items are needed, {actual_length} given",
    "too_long": "at most {max_length} items are possible, {actual_length} given",
    "string_too_short": "at least {min_length} characters are needed",
    "string_too_long": "at most {max_length} characters are possible",
    "string_pattern_mismatch": "it must match {pattern}",
    "multiple_of": "it must be a multiple of {multiple_of}",
}


def _did_you_mean(word: str, known: Sequence[str]) -> str:
    near = nearest(word, known)
    return f"; did you mean {near}?" if near else ""


def _choices(error: ErrorDetails) -> list[str]:
    return _listed(error["ctx"]["expected"]) if error["type"] in _CHOICES else []


def _listed(expected: str) -> list[str]:
    """`'one', 'two' or 3`, as Pydantic writes it, as a list."""
    return [quoted or bare for quoted, bare in _CHOICE.findall(expected) if (quoted or bare) != "or"]


def _said(error: ErrorDetails) -> str:
    kind, context = error["type"], error.get("ctx", {})
    if shape := SHAPES.get(context.get("pattern", "")):
        return f"it must be {shape.words}"
    return _FORMS[kind].format_map(context) if kind in _FORMS else _PREFIX.sub("", error["msg"])


def _got(value: Tree) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return f"the boolean {_shown(value)}"
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, str):
        return f"the string {_shown(value)}"
    return "a mapping" if isinstance(value, dict) else "a list"


def _shown(value: Tree) -> str:
    return json.dumps(value, ensure_ascii=False)


def _mended(value: Tree, expected: Sequence[str], written: str) -> str:
    """How to write `value` so that it is of an expected kind, if that can be told."""
    if value is None:
        return "write a value, or remove the line"
    if isinstance(value, str):
        return _unquoted(value, expected)
    if "a string" in expected and not isinstance(value, dict | list):
        return f'quote it: "{written or value}"'
    if "a whole number" in expected and isinstance(value, float) and value.is_integer():
        return f"write {int(value)}"
    if "a list" in expected and not isinstance(value, dict):
        return f"write [{written or value}]"
    return ""


def _unquoted(value: str, expected: Sequence[str]) -> str:
    if "true or false" in expected and value.lower() in _YES | _NO:
        return f"write {'true' if value.lower() in _YES else 'false'}"
    number = r"[-+]?[0-9]+" if "a number" not in expected else r"[-+]?[0-9]*\.?[0-9]+"
    if {"a whole number", "a number"} & set(expected) and re.fullmatch(number, value):
        return f"remove the quotes: {value}"
    return f"write [{value}]" if "a list" in expected else ""
