"""Drafts the rule that a decided experiment has earned: exactly what was shown to matter, on the stack on which it was."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from dsv4deploy.model.launch import Json
from dsv4deploy.model.rule import known
from dsv4deploy.stages.marks import Candidate, plain
from dsv4deploy.stages.situation import Situation

Tree = dict[str, Any]


def draft_rule(one: Candidate, paths: Sequence[str], told: Mapping[str, str], held: Sequence[str] = ()) -> Tree | None:
    """The rule as the content of its file; None where nothing of `one` belongs to `paths`.

    Args:
        one: an arm that failed.
        paths: profile paths that were shown to matter together.
        told: `summary`, `why`, `remedy`, and of the evidence `ref`, `date`, `saw` and `hardware`. What a rehearsal
            showed is `inferred`, because it shows what was put into it.
        held: further paths, without which nothing was shown.
    """
    conditions = list(_conditions(one, paths))
    if not conditions:
        return None
    conditions += [condition for condition in _conditions(one, held) if condition not in conditions]
    names = [f"{kind}:{name}" for kind, name, _ in conditions]
    kind = one.facts.model.model_type
    facts: Tree = {"model": {"model_type": kind}} if kind else {}
    facts |= {"arch": one.facts.arch} if one.facts.arch else {}
    bad: Tree = {**_example(conditions), **({"facts": facts} if facts else {}), "version": one.launch.version}
    bad |= {"build": one.launch.build} if one.launch.build else {}
    return {
        "summary": told["summary"],
        "severity": "crash",
        "stability": "preview",
        "scope": _scope(one),
        "when": [{kind: name, "is": plain(value)} for kind, name, value in conditions],
        "at": names[0],
        "related": names[1:],
        "names": names[:4],
        "why": told["why"],
        "remedy": told["remedy"],
        "evidence": [
            {
                "grade": "inferred" if one.rehearsal else "reproduced",
                "ref": told["ref"],
                "date": told["date"],
                "hardware": told["hardware"],
                "versions": f"SGLang {one.launch.version}{f', {one.launch.build}' if one.launch.build else ''}",
                "saw": told["saw"],
            }
        ],
        "examples": {"bad": bad, "good": [_without(condition) for condition in conditions]},
    }


def _conditions(one: Candidate, paths: Sequence[str]) -> Iterator[tuple[str, str, Json]]:
    """What the profile paths became in the launch: settings by their effective value, variables by their text."""
    for path in paths:
        for setting in one.launch.settings.values():
            if _below(setting.path, path):
                effect = one.effective.settings.get(setting.dest)
                yield "setting", setting.dest, effect.value if effect and not effect.needs else setting.value
        for variable in one.launch.environment.values():
            if _below(variable.path, path):
                yield "env", variable.name, variable.value


def _below(path: str | None, above: str) -> bool:
    return path is not None and (path == above or path.startswith(f"{above}."))


def _scope(one: Candidate) -> Tree:
    found: Tree = {"engine": f"=={one.launch.version}"} if one.launch.version else {}
    found |= {"arch": [one.facts.arch]} if one.facts.arch else {}
    situation = Situation(one.launch, one.facts, one.catalogue, effective=one.effective)
    kind = known(situation.ask, "trait:family")
    return found | ({"family": [kind]} if kind else {})


def _example(conditions: Sequence[tuple[str, str, Json]]) -> Tree:
    settings = {name: plain(value) for kind, name, value in conditions if kind == "setting"}
    env = {name: str(value) for kind, name, value in conditions if kind == "env"}
    return {**({"settings": settings} if settings else {}), **({"env": env} if env else {})}


def _without(condition: tuple[str, str, Json]) -> Tree:
    kind, name, _ = condition
    return {"settings" if kind == "setting" else "env": {name: None}}
