"""Keeps the trials of experiments, one numbered YAML file each, beside the project and in no git."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from dsv4deploy.model.experiment import Trial
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.project import FOLDER

_TRIALS, _DRAFTS = FOLDER / "trials", FOLDER / "drafts"
_TRIAL = TypeAdapter(Trial)


def kept(project: Path, experiment: str) -> tuple[Trial, ...]:
    """The trials of one experiment that were made before, the oldest first.

    Raises:
        Trouble: a record cannot be read.
    """
    found = []
    for path in sorted((project / _TRIALS).glob("[0-9]*.yaml")):
        try:
            data = yaml.safe_load(path.read_text(encoding="utf-8"))
            trial = _TRIAL.validate_python({**data["trial"], "record": str(_TRIALS / path.name)})
        except (OSError, yaml.YAMLError, ValidationError, KeyError, TypeError) as error:
            raise Trouble(f"{path} is no trial: {' '.join(str(error).split())[:200]}", "remove it") from None
        if trial.experiment == experiment:
            found.append(trial)
    return tuple(found)


def keep(project: Path, trial: Trial, more: Mapping[str, Any]) -> Trial:
    """Write one trial with what else is known of it under the next free number; the trial with its record's name.

    Raises:
        Trouble: it cannot be written.
    """
    folder = project / _TRIALS
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (project / FOLDER / ".gitignore").write_text("*\n")
        number = 1 + max((int(path.stem) for path in folder.glob("[0-9]*.yaml")), default=0)
        path = folder / f"{number:04}.yaml"
        tree = {"schema": "trial/1", "trial": {k: v for k, v in asdict(trial).items() if k != "record"}, **more}
        fresh = path.with_suffix(".new")
        fresh.write_text(yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise Trouble(f"{folder} cannot be written: {error.strerror}", "make the folder writable") from None
    return replace(trial, record=str(_TRIALS / path.name))


def draft(project: Path, name: str, rule: Mapping[str, Any], lines: Sequence[str]) -> Path:
    """Write a draft rule with `lines` as its head; it counts only once a person has moved it to `rules/`."""
    path = project / _DRAFTS / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(rule), sort_keys=False, allow_unicode=True, width=120)
    path.write_text("".join(f"# {line}\n" for line in lines) + text, encoding="utf-8")
    return path


def now() -> str:
    """This moment, as records have it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
