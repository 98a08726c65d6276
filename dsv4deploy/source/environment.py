"""Looks at environment variables as SGLang and the libraries below it read them."""

import json
import re
from collections.abc import Callable

from dsv4deploy.model.environment import (
    MalformedVariable,
    OtherVersionVariable,
    RetiredVariable,
    UnknownVariable,
    VariableError,
)
from dsv4deploy.model.flag import Catalogue, EnvVar
from dsv4deploy.model.history import History
from dsv4deploy.model.nearest import misspelt

TRUE = frozenset({"true", "1", "yes", "y"})
FALSE = frozenset({"false", "0", "no", "n"})
# Up to where `strtol` with base 0 reads.
C_NUMBER = re.compile(r"\s*[+-]?(0[xX][0-9a-fA-F]+|\d+)")
OWN = "SGLANG_"
OLD = "SGL_"


def check_env(name: str, value: str, catalogue: Catalogue, history: History | None = None) -> VariableError | None:
    """What is wrong with setting `name` to `value` for this engine version; None if nothing is known to be.

    With `history`, a variable of another version is told as such.
    """
    current = name.replace(OLD, OWN, 1) if name.startswith(OLD) and name not in catalogue.variables else name
    variable = catalogue.variables.get(current)
    if variable is None:
        return _unread(name, current, catalogue, history)
    if variable.deprecated or current != name:
        return RetiredVariable(name, variable)
    return _malformed(variable, value)


def _unread(name: str, current: str, catalogue: Catalogue, history: History | None) -> VariableError | None:
    life = history.life(current) if history else None
    # Any other name may have a reader beside the engine, whichever release began to look at it.
    if life is not None and current.startswith(OWN):
        return OtherVersionVariable(name, life)
    complete = (OWN, *(history.overlay.complete if history else ()))
    family = current.partition("_")[0] + "_"
    meant = misspelt(current, [known for known in catalogue.variables if known.startswith(family)])
    if meant or current.startswith(complete):
        return UnknownVariable(name, meant)
    return None


def _malformed(variable: EnvVar, value: str) -> MalformedVariable | None:
    wanted = _wanted(variable, value)
    return MalformedVariable(variable, value, wanted, _effect(variable)) if wanted else None


def _effect(variable: EnvVar) -> str:
    if _of_a_library(variable):
        return f"{variable.owner} ignores it or takes it for something else"
    if not variable.registered:
        return (
            "SGLang takes it for false" if variable.type == "bool" else "SGLang stops with an error where it reads it"
        )
    default = "a default that it computes" if variable.default is None else f"the default {variable.default}"
    return f"SGLang warns and uses {default}"


def _wanted(variable: EnvVar, value: str) -> str:
    """What the reader needs, if `value` is not that."""
    if variable.choices is not None:
        return _wanted_choice(variable, value)
    wanted, fits = {
        "bool": _bool(variable, value),
        "int": ("a whole number", _reads(int, value) or (_of_a_library(variable) and C_NUMBER.fullmatch(value))),
        "float": ("a number", _reads(float, value)),
        "json": ("JSON, or the path of a file", not value.lstrip().startswith(("{", "[")) or _reads(json.loads, value)),
        "pairs": ("name:value pairs with commas between them", _pairs(value)),
    }.get(variable.type, ("", True))
    return "" if fits else wanted


def _of_a_library(variable: EnvVar) -> bool:
    return variable.owner != "SGLang"


def _bool(variable: EnvVar, value: str) -> tuple[str, bool]:
    # What is read in passing goes through an older function, which knows fewer words.
    if variable.registered:
        return "true, 1, yes, y or false, 0, no, n", value.lower() in TRUE | FALSE
    return "true, 1 or false, 0", value.lower() in {"true", "1", "false", "0"}


def _pairs(value: str) -> bool:
    return all(":" in part for part in re.split(r",(?![^\[]*\])", value) if part.strip())


def _wanted_choice(variable: EnvVar, value: str) -> str:
    choices = variable.choices or ()
    if variable.type == "words":
        known = {choice.lower() for choice in choices}
        # NCCL's lists may exclude (^) and may speak of one operation at a time (`allreduce:ring;...`).
        words = [word.strip().lower() for word in value.removeprefix("^").split(",")]
        fits = ":" in value or all(word in known for word in words)
    else:
        fits = value in choices
    return "" if fits else ("one of " if len(choices) > 1 else "") + ", ".join(choices)


def _reads(conversion: Callable[[str], object], value: str) -> bool:
    try:
        conversion(value)
    except ValueError:
        return False
    return True
