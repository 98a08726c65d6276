"""Turns one word into a value as SGLang's own conversions do, and a value into the word that says it."""

import json
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from dsv4deploy.model.flag import Flag, Type
from dsv4deploy.model.launch import Json

SIZE = re.compile(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)")
SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}

# What each conversion wants, for a sentence that starts with "needs".
WANTED: Mapping[Type, str] = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "no value",
    "json": "JSON",
    "json-list": "a JSON list",
    "human-int": "a whole number, or one with k, M, G, T (thousands) or Ki, Mi, Gi, Ti (1024s), in exactly this case",
    "nullable-str": "text, or None",
    "graph-config": "a JSON object of phases (decode, prefill) to settings",
    "graph-backend": "the name of a backend",
}


def converted(flag: Flag, word: str) -> Json:
    """The value that the engine's parser makes of `word`; choices are not looked at.

    Raises:
        ValueError: the parser refuses the word; the message says what it wants.
    """
    try:
        return _frozen(_convert(flag, word))
    except _RefusedError as refused:
        raise ValueError(str(refused)) from None
    except (ValueError, RecursionError):
        raise ValueError(WANTED[flag.type]) from None


class _RefusedError(Exception):
    """A refusal with a reason of its own."""


def _convert(flag: Flag, word: str) -> Any:  # noqa: ANN401 (what a conversion gives is up to the word)
    if flag.action == "lora-paths":
        return _lora_path(word)
    if word in flag.refuses and flag.type == "graph-backend":
        raise _RefusedError(f"another backend; this version has removed {word}")
    if flag.type == "graph-config":
        return _graph_config(flag, word)
    return CONVERSIONS[flag.type](word)


def _human_int(word: str) -> int:
    sized = SIZE.fullmatch(word.strip())
    if not sized:
        return int(word)
    number, suffix = sized.groups()
    if suffix in SI:
        return int(Decimal(number) * SI[suffix])
    if "." in number:
        raise _RefusedError(f"a whole number before {suffix}")
    return int(number) * IEC[suffix]


def _strict_json(word: str) -> Any:  # noqa: ANN401 (JSON)
    return json.loads(word, parse_constant=_no_constant)


def is_json(word: str) -> bool:
    """Whether `word` is JSON."""
    try:
        json.loads(word)
    except (ValueError, RecursionError):
        return False
    return True


def _no_constant(name: str) -> float:
    raise ValueError(name)


def _lora_path(word: str) -> Any:  # noqa: ANN401 (text, or a JSON object)
    path = word.strip()
    if not (path.startswith("{") and path.endswith("}")):
        return path
    loaded = json.loads(path)
    if not {"lora_name", "lora_path"} <= set(loaded):
        raise _RefusedError("an object with lora_name and lora_path")
    return loaded


def _graph_config(flag: Flag, word: str) -> Any:  # noqa: ANN401 (JSON)
    config = json.loads(word)
    if not isinstance(config, dict):
        raise ValueError(word)  # noqa: TRY004 (a word of the user, not of our code)
    allowed = flag.keys or {}
    for phase, settings in config.items():
        if phase not in allowed:
            raise _RefusedError(f"phases out of {', '.join(sorted(allowed))}; {phase} is none")
        if not isinstance(settings, dict):
            raise _RefusedError(f"an object under {phase}")
        if settings.get("backend") in flag.refuses:
            raise _RefusedError(f"another backend under {phase}; this version has removed {settings['backend']}")
        for key in settings:
            if key not in allowed[phase]:
                raise _RefusedError(f"keys out of {', '.join(allowed[phase])} under {phase}; {key} is none")
    return config


CONVERSIONS: Mapping[Type, Callable[[str], Any]] = {
    "str": str,
    "int": int,
    "float": float,
    "json": json.loads,
    "json-list": _strict_json,
    "human-int": _human_int,
    "nullable-str": lambda word: None if word in {"", "None"} else word,
    "graph-backend": str,
}


def _frozen(value: Any) -> Json:  # noqa: ANN401 (JSON, with lists)
    if isinstance(value, list):
        return tuple(_frozen(each) for each in value)
    if isinstance(value, dict):
        return {key: _frozen(each) for key, each in value.items()}
    result: Json = value
    return result


def word_of(flag: Flag, value: Json) -> str:
    """The word that `converted` turns into `value`.

    Raises:
        ValueError: no word does; the message says what the flag wants.
    """
    if flag.type in {"json", "json-list", "graph-config"} or (
        flag.action == "lora-paths" and isinstance(value, Mapping)
    ):
        return json.dumps(value, separators=(",", ":"), ensure_ascii=False)
    match flag.type, value:
        case (("str" | "graph-backend"), str()):
            return value
        case "nullable-str", str() if value not in {"", "None"}:
            return value
        case "nullable-str", None:
            return "None"
        case (("int" | "human-int"), int()) if not isinstance(value, bool):
            return str(value)
        case "float", int() | float() if not isinstance(value, bool):
            return repr(value)
        case _:
            raise ValueError(WANTED[flag.type])
