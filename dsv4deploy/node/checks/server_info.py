"""Whether the server runs with what was asked for: `/server_info` against the arguments that it was started with."""

from __future__ import annotations

import json
import re
from typing import Any

from dsv4deploy.node.checks.target import OK, Finding, Target, unanswered

_PATHS = ("/server_info", "/get_server_info")
# What nobody may read, and what says nothing about the server.
_NOT_COMPARED = re.compile(r".*api_key|.*password|.*token|hf_.*")
_FLAG = re.compile(r"--[A-Za-z]")


def check(target: Target) -> Finding:
    """Ask and judge."""
    for path in _PATHS:
        answer = target.ask(path)
        if answer.status == OK:
            target.info = answer.document() or {}
            return judge(target.info, target.request.get("argv") or [])
    return unanswered(answer, path) if answer.status is None else Finding("unknown", f"{path} answered {answer.status}")


def judge(info: Any, argv: list[str]) -> Finding:  # noqa: ANN401 (what a server answered)
    """Bad if a setting that was asked for is not in effect."""
    if not isinstance(info, dict):
        return Finding("unknown", "what it answered is no JSON object")
    asked = wanted(argv)
    missed = [
        f"{name} is {told(info[name])}, asked for: {told(words) if words else 'on'}"
        for name, words in asked.items()
        if name in info and not agrees(words, info[name])
    ]
    if missed:
        return Finding("bad", f"{len(missed)} settings are not what was asked for: {missed[0]}", tuple(missed))
    seen = sum(name in info for name in asked)
    return Finding("good", f"all {seen} settings that were asked for are in effect")


def silently(info: Any, argv: list[str], defaults: dict[str, Any]) -> list[str]:  # noqa: ANN401 (likewise)
    """Every setting that nobody asked for and that is not the engine's default: what the engine changed by itself."""
    if not isinstance(info, dict):
        return []
    asked = wanted(argv)
    return [
        f"{name} became {told(info[name])} (default: {told(default)})"
        for name, default in sorted(defaults.items())
        if name in info
        and name not in asked
        and not _NOT_COMPARED.fullmatch(name)
        and not _same(info[name], default)
        and not isinstance(info[name], dict)
    ]


def wanted(argv: list[str]) -> dict[str, list[str]]:
    """What was asked for: the words of each argument by the engine's name for it; the last one of a kind counts."""
    found: dict[str, list[str]] = {}
    name = ""
    for word in argv:
        if _FLAG.match(word):
            flag, equals, value = word.partition("=")
            name = flag.lstrip("-").replace("-", "_")
            found[name] = [value] if equals else []
        elif name:
            found[name].append(word)
    return {name: words for name, words in found.items() if not _NOT_COMPARED.fullmatch(name)}


def agrees(words: list[str], value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Whether a value is what the words ask for."""
    if not words:
        return value is not False and value is not None
    if isinstance(value, list):
        return [str(one) for one in value] == words or _as_json(words) == value
    if len(words) != 1:
        return False
    word = words[0]
    if isinstance(value, bool) or value is None:
        return word.lower() == str(value).lower()
    if isinstance(value, (int, float)):
        return _number(word) == float(value)
    return str(value) == word or _as_json(words) == value or _as_json([str(value)]) == _as_json(words) is not None


def _same(one: Any, other: Any) -> bool:  # noqa: ANN401 (any JSON)
    return json.dumps(one, sort_keys=True, default=str) == json.dumps(other, sort_keys=True, default=str)


def told(value: Any) -> str:  # noqa: ANN401 (any JSON)
    """A value as a person reads it."""
    if isinstance(value, list) and all(isinstance(one, str) for one in value):
        return " ".join(value) or "nothing"
    return json.dumps(value)


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:
        return None


def _as_json(words: list[str]) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(" ".join(words))
    except ValueError:
        return None
