"""What the words of a flag become; named as in SGLang, since argparse quotes the name in its messages."""

from __future__ import annotations

import argparse
import json
import re
from decimal import Decimal
from typing import Callable, Mapping

from .record import Value

_SI = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
_IEC = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40}


def conversion(flag: Mapping[str, Value]) -> Callable[[str], Value] | None:
    """The conversion of a flag of the record; None where argparse keeps the word."""
    kind = flag.get("type", "str")
    if kind == "graph-config":
        return _graph_config(flag.get("keys") or {}, flag.get("refuses") or [])
    if kind == "graph-backend":
        return _graph_backend(flag.get("refuses") or [])
    return _PLAIN.get(kind)


def human_readable_int(value: str) -> int:
    """An integer with an optional suffix, case-sensitive: `128k`, `25.6k`, `128Ki`."""
    found = re.fullmatch(r"(\d+(?:\.\d+)?)(Ki|Mi|Gi|Ti|k|M|G|T)", value.strip())
    if not found:
        return _plain_integer(value.strip())
    number, suffix = found.groups()
    if suffix in _SI:
        return int(Decimal(number) * _SI[suffix])
    if "." in number:
        raise argparse.ArgumentTypeError(
            f"Decimals are not allowed with IEC suffixes like '{suffix}'. Use an integer IEC value such as '{int(Decimal(number))}{suffix}', "
            f"or an SI value such as '{number}{suffix[0]}'."
        )
    return int(number) * _IEC[suffix]


def _plain_integer(value: str) -> int:
    try:
        return int(value)
    except ValueError as error:
        raise argparse.ArgumentTypeError(
            f"Invalid integer value: '{value}'. Use a plain integer, SI suffixes (1k, 1M), or IEC suffixes (1Ki, 1Mi). "
            "Suffixes are case-sensitive."
        ) from error


def json_list_type(value: str) -> Value:
    """JSON text."""
    try:
        return json.loads(value)
    except json.JSONDecodeError as error:
        raise argparse.ArgumentTypeError(f"Invalid JSON list: {value}. Please provide a valid JSON list.") from error


def nullable_str(value: str) -> str | None:
    """A word, or nothing for `None`."""
    return None if not value or value == "None" else value


def _graph_backend(refused: list[str]) -> Callable[[str], str]:
    def parse_cuda_graph_backend_arg(raw: str) -> str:
        if raw in refused:
            raise argparse.ArgumentTypeError(f"{raw} was removed; select breakable, full, or disabled")
        return raw

    return parse_cuda_graph_backend_arg


def _graph_config(allowed: dict[str, list[str]], refused: list[str]) -> Callable[[str], dict[str, Value]]:
    backend = _graph_backend(refused)

    def parse_cuda_graph_config_arg(raw: str) -> dict[str, Value]:
        try:
            config = json.loads(raw)
        except json.JSONDecodeError as error:
            raise argparse.ArgumentTypeError(f"--cuda-graph-config must be JSON: {error}") from error
        if not isinstance(config, dict):
            kind = type(config).__name__
            raise argparse.ArgumentTypeError(f"--cuda-graph-config must be a JSON object, got {kind}")
        for phase, settings in config.items():
            _check_phase(phase, settings, allowed)
            if "backend" in settings:
                backend(settings["backend"])
        return config

    return parse_cuda_graph_config_arg


def _check_phase(phase: str, settings: Value, allowed: dict[str, list[str]]) -> None:
    if phase not in allowed:
        known = tuple(allowed)
        raise argparse.ArgumentTypeError(f"--cuda-graph-config: unknown phase '{phase}', expected one of {known}")
    if not isinstance(settings, dict):
        kind = type(settings).__name__
        raise argparse.ArgumentTypeError(f"--cuda-graph-config['{phase}'] must be a JSON object, got {kind}")
    for key in settings:
        if key not in allowed[phase]:
            raise argparse.ArgumentTypeError(
                f"--cuda-graph-config['{phase}']: unknown key '{key}', expected one of {tuple(allowed[phase])}"
            )


_PLAIN: dict[str, Callable[[str], Value]] = {
    "int": int,
    "float": float,
    "json": json.loads,
    "json-list": json_list_type,
    "human-int": human_readable_int,
    "nullable-str": nullable_str,
}
