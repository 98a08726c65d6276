"""Compiles for one engine version what the rehearsal engine plays: flags, behaviour, log lines, failures, world."""

from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

import yaml
from packaging.version import Version

from dsv4deploy.model.flag import Absent, Catalogue, Flag
from dsv4deploy.rehearsal.failure import failures

Json = dict[str, Any]
# What of a flag the parser needs.
_KEPT = (
    *("name", "aliases", "dest", "type", "choices", "nargs", "action", "const"),
    *("required", "deprecated", "successor", "keys", "refuses"),
)

_THEN = {"fail", "delay", "rank", "requests", "tokens", "seconds", "probability", "seed"}
_STAGES = {"init", "load", "pool", "capture", "warmup"}


class WorldError(ValueError):
    """A world file is not what it should be, or has a rule that can never match."""


def record(catalogue: Catalogue, world: Mapping[str, Any] | None = None) -> Json:
    """Everything that `engine/` needs to stand in for `catalogue.version`.

    Args:
        catalogue: the flags of that version.
        world: keys of `world.yaml` to replace; its `rules` come before the known ones.

    Raises:
        WorldError: the world has a key, or a rule names a failure script, that does not exist.
    """
    version = Version(catalogue.version)
    lines, base = _data("lines.yaml"), _data("world.yaml")
    known_rules = base.pop("rules")
    pretended = _world(base, world or {})
    scripts = {script.name: script.played(catalogue.version) for script in failures() if script.fits(version)}
    rules = [*pretended.pop("rules"), *known_rules]
    for rule in rules:
        _check(rule, {*lines["traits"]}, {flag.dest for flag in catalogue.flags.values()}, scripts)
    return {
        "version": catalogue.version,
        "flags": [_flag(flag) for flag in catalogue.flags.values()],
        "behaviour": {name: _behaviour(version, span) for name, span in lines["behaviour"].items()},
        "lines": {
            part: [_line(entry) for entry in entries if _fits(version, entry)]
            for part, entries in lines["lines"].items()
        },
        "failures": scripts,
        "world": pretended,
        "rules": [rule for rule in rules if _fits(version, rule)],
    }


def _world(base: Json, written: Mapping[str, Any]) -> Json:
    if not isinstance(written, Mapping):
        raise WorldError("the world is not a mapping")
    changes = dict(written)
    if unknown := changes.keys() - base.keys() - {"rules"}:
        raise WorldError(f"unknown key in the world: {', '.join(sorted(unknown))}; known: {', '.join(base)}, rules")
    model = {**base["model"], **changes.pop("model", {})}
    return {"rules": [], **base, **changes, "model": model}


def _check(rule: Json, traits: set[str], dests: set[str], scripts: Json) -> None:
    """Refuse a rule that can never match, or whose failure nobody knows."""
    if not isinstance(rule, dict) or not isinstance(rule.get("then"), dict):
        raise WorldError("a rule of the world is `{when: {...}, then: {...}}`")
    when, then = rule.get("when") or {}, rule["then"]
    asked = {trait for key in ("is", "is_not") for trait in _listed(when.get(key, []))}
    free = {key for key in when if key.startswith(("env.", "model.", "number."))}
    problems = [
        *(f"unknown trait: {trait}" for trait in sorted(asked - traits)),
        *(f"unknown in `when`: {key}" for key in sorted(when.keys() - free - dests - {"is", "is_not", "arch", "gpus"})),
        *(f"unknown in `then`: {key}" for key in sorted(then.keys() - _THEN)),
        *(f"unknown stage: {stage}" for stage in sorted((then.get("delay") or {}).keys() - _STAGES)),
    ]
    if "fail" in then and then["fail"] not in scripts:
        problems.append(f"no failure script {then['fail']!r}: `dsv4deploy rehearse list` names them")
    if problems:
        raise WorldError(f"a rule of the world: {'; '.join(problems)}")


def _listed(value: Any) -> list[Any]:  # noqa: ANN401 (a value of a world file)
    return value if isinstance(value, list) else [value]


def _flag(flag: Flag) -> Json:
    written = {name: value for name in _KEPT if (value := getattr(flag, name)) not in (None, (), False)}
    return {**written, "absent": True} if isinstance(flag.default, Absent) else {**written, "default": flag.default}


def _line(entry: Json) -> Json:
    return {key: value for key, value in entry.items() if key not in {"since", "until", "origin"}}


def _behaviour(version: Version, span: Json | list[Json]) -> bool | Json:
    """Whether a version does it; of a list of spans, the values of those that fit, laid over one another."""
    if isinstance(span, dict):
        return _fits(version, span)
    return {key: value for each in span if _fits(version, each) for key, value in each["value"].items()}


def _fits(version: Version, entry: Mapping[str, Any]) -> bool:
    since, until = entry.get("since"), entry.get("until")
    return (since is None or version >= Version(since)) and (until is None or version <= Version(until))


@cache
def _text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def _data(name: str) -> Json:
    data: Json = yaml.safe_load(_text(name))
    return data
