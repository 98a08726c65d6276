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


def record(catalogue: Catalogue, world: Mapping[str, Any] | None = None) -> Json:
    """Everything that `engine/` needs to stand in for `catalogue.version`.

    Args:
        catalogue: the flags of that version.
        world: keys of `world.yaml` to replace; its `rules` come before the known ones.

    Raises:
        ValueError: the world has a key, or a rule names a failure script, that does not exist.
    """
    version = Version(catalogue.version)
    lines, base = _data("lines.yaml"), _data("world.yaml")
    rules = base.pop("rules")
    pretended = _world(base, dict(world or {}))
    scripts = {script.name: script.played(catalogue.version) for script in failures() if script.fits(version)}
    chosen = [rule for rule in [*pretended.pop("rules"), *rules] if _fits(version, rule)]
    for rule in chosen:
        if (name := rule["then"].get("fail", next(iter(scripts)))) not in scripts:
            raise ValueError(f"no failure script {name!r} for SGLang {version}; `dsv4deploy rehearse list` names them")
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
        "rules": chosen,
    }


def _world(base: Json, changes: Json) -> Json:
    if unknown := changes.keys() - base.keys() - {"rules"}:
        raise ValueError(f"unknown key in the world: {', '.join(sorted(unknown))}; known: {', '.join(base)}, rules")
    model = {**base["model"], **changes.pop("model", {})}
    return {"rules": [], **base, **changes, "model": model}


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
