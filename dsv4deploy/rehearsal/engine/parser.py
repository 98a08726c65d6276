"""Parses exactly the flags of the pretended version, with argparse itself, so that it refuses in the same words."""

from __future__ import annotations

import argparse
import json
from typing import Sequence

from . import log
from .conversions import conversion
from .record import RECORD, Value


def parse(words: Sequence[str]) -> argparse.Namespace:
    """The settings that `words` mean; leaves with 2 and argparse's own message where SGLang would."""
    return build(RECORD["flags"]).parse_args(list(words))


def build(flags: Sequence[dict[str, Value]]) -> argparse.ArgumentParser:
    """A parser of `flags`, in their order, which the message about an ambiguous prefix shows."""
    parser = argparse.ArgumentParser()
    for flag in flags:
        parser.add_argument(flag["name"], *flag.get("aliases", ()), **_options(flag))
    return parser


def _options(flag: dict[str, Value]) -> dict[str, Value]:
    action = flag.get("action", "store")
    options: dict[str, Value] = {"dest": flag["dest"], "default": flag.get("default")}
    if flag.get("absent"):
        options["default"] = argparse.SUPPRESS
    if flag.get("required"):
        options["required"] = True
    if action == "store-true" and not flag.get("deprecated"):
        return dict(options, action="store_true")
    if action == "store-false":
        return dict(options, action="store_false")
    if action in _FLAGS:
        return dict(options, action=_FLAGS[action], nargs=0, const=flag.get("const"), successor=flag.get("successor"))
    options.update({key: flag[key] for key in ("nargs", "choices") if flag.get(key) is not None})
    if flag.get("nargs") == "?":
        options["const"] = flag.get("const")
    converted = conversion(flag)
    if converted:
        options["type"] = converted
    if action == "lora-paths":
        options["action"] = _LoraPaths
    elif flag.get("deprecated") and flag.get("successor"):
        options.update(action=_Alias, successor=flag["successor"])
    return options


class _Action(argparse.Action):
    """An action that knows what to write instead."""

    def __init__(self, option_strings: Sequence[str], dest: str, successor: str | None = None, **kept: Value) -> None:
        self.successor = successor
        super().__init__(option_strings, dest, **kept)

    def __call__(
        self,
        parser: argparse.ArgumentParser,
        namespace: argparse.Namespace,
        values: Value,
        option_string: str | None = None,
    ) -> None:
        self.warn(option_string or "")
        setattr(namespace, self.dest, self.stored(values))

    def warn(self, option: str) -> None:
        """Say that the flag is deprecated, in the colour in which SGLang says it."""
        instead = f" Use '{self.successor}' instead." if self.successor else ""
        log.warn(f"'{option}' is deprecated and will be removed in a future release.{instead}")

    def stored(self, values: Value) -> Value:
        """What the dest becomes."""
        return values


class _Alias(_Action):
    """An old valued flag: its value goes to the new dest."""


class _True(_Action):
    """An old boolean that still works."""

    def stored(self, values: Value) -> Value:
        """Presence is the value."""
        return True


class _Const(_Action):
    """An old boolean that means one value of a new flag."""

    def stored(self, values: Value) -> Value:
        """The value that it means."""
        return self.const


class _Ignored(_Action):
    """A flag without effect."""

    def __call__(self, parser: Value, namespace: Value, values: Value, option_string: str | None = None) -> None:
        text = "The command line argument '{}' is deprecated and will be removed in future versions."
        log.warn(text.format(option_string))


class _Refused(_Action):
    """A removed flag that names its successor."""

    def __call__(self, parser: Value, namespace: Value, values: Value, option_string: str | None = None) -> None:
        parser.error(self.successor or f"{option_string} is no longer supported.")


class _Boolean(_Action):
    """`argparse.BooleanOptionalAction`, which Python 3.8 does not have."""

    def __init__(self, option_strings: list[str], dest: str, **kept: Value) -> None:
        negated = ["--no-" + option[2:] for option in option_strings]
        super().__init__([*option_strings, *negated], dest, **kept)

    def __call__(self, parser: Value, namespace: Value, values: Value, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, not (option_string or "").startswith("--no-"))


class _LoraPaths(_Action):
    """Paths, or JSON objects that name path and adapter."""

    def __call__(self, parser: Value, namespace: Value, values: Value, option_string: str | None = None) -> None:
        setattr(namespace, self.dest, [_adapter(path.strip()) for path in values or []])


def _adapter(path: str) -> Value:
    if not (path.startswith("{") and path.endswith("}")):
        return path
    read = json.loads(path)
    if not {"lora_path", "lora_name"} <= read.keys():
        # The engine asserts: a traceback and exit code 1.
        raise AssertionError(
            f"{path!r} looks like a JSON str, but it does not contain 'lora_name' and 'lora_path' keys."
        )
    return read


_FLAGS = {
    "store-true": _True,
    "store-const": _Const,
    "boolean-optional": _Boolean,
    "ignore": _Ignored,
    "refuse": _Refused,
}
