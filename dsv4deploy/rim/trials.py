"""Keeps the trials and verdicts of experiments, one YAML file each, beside the project and in no git."""

import fcntl
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml
from pydantic import TypeAdapter, ValidationError

from dsv4deploy.model.campaign import Conclusion, Made
from dsv4deploy.model.experiment import Trial
from dsv4deploy.model.mark import Condition, Core, Host
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.project import FOLDER

_TRIALS, _DRAFTS, _VERDICTS = FOLDER / "trials", FOLDER / "drafts", FOLDER / "verdicts"
_TRIAL = TypeAdapter(Trial)


def kept(project: Path, experiment: str) -> tuple[Trial, ...]:
    """The trials of one experiment that were made before, the oldest first.

    Raises:
        Trouble: a record cannot be read.
    """
    return tuple(one.trial for one in made(project) if one.trial.experiment == experiment)


def made(project: Path) -> tuple[Made, ...]:
    """All trials of a project with what stands beside them, the oldest first.

    Raises:
        Trouble: a record cannot be read.
    """
    return tuple(_made(path, data) for path, data in _each(project / _TRIALS, "[0-9]*.yaml", "trial"))


def keep(project: Path, trial: Trial, more: Mapping[str, Any]) -> Trial:
    """Write one trial with what else is known of it under the next free number; the trial with its record's name.

    Raises:
        Trouble: it cannot be written.
    """
    folder = project / _TRIALS
    record = {"schema": "trial/1", "trial": {k: v for k, v in asdict(trial).items() if k != "record"}, **more}
    with _alone(folder):
        number = 1 + max((int(path.stem) for path in folder.glob("[0-9]*.yaml")), default=0)
        path = folder / f"{number:04}.yaml"
        _write(project, path, record)
    return replace(trial, record=str(_TRIALS / path.name))


def answer(project: Path, trial: Trial) -> dict[str, Any]:
    """What the judge said of a trial that was kept, as far as its record has it.

    Raises:
        Trouble: the record cannot be read.
    """
    path = project / trial.record
    data = next((data for _, data in _each(path.parent, path.name, "trial")), {})
    said = data.get("answer") or {}
    return {**said, "stage": trial.stage, "root": trial.root, "lines": data.get("lines") or []}


def conclude(project: Path, conclusion: Conclusion) -> Path:
    """Write what an experiment came to, in the place of what it came to before.

    Raises:
        Trouble: it cannot be written.
    """
    path = project / _VERDICTS / f"{conclusion.name}.yaml"
    _write(project, path, {"schema": "verdict/1", "verdict": conclusion.model_dump(mode="json", exclude_defaults=True)})
    return path


def conclusions(project: Path) -> tuple[Conclusion, ...]:
    """What the experiments of a project came to, the oldest first.

    Raises:
        Trouble: a record cannot be read.
    """
    found = [_conclusion(path, data) for path, data in _each(project / _VERDICTS, "*.yaml", "verdict")]
    return tuple(sorted(found, key=lambda one: (one.at, one.name)))


def draft(project: Path, name: str, rule: Mapping[str, Any], lines: Sequence[str]) -> Path:
    """Write a draft rule with `lines` as its head; it counts only once a person has moved it to `rules/`."""
    path = project / _DRAFTS / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    text = yaml.safe_dump(dict(rule), sort_keys=False, allow_unicode=True, width=120)
    path.write_text("".join(f"# {line}\n" for line in lines) + text, encoding="utf-8")
    return path


def drafts(project: Path) -> tuple[str, ...]:
    """The draft rules that nobody has moved yet, as paths below the project."""
    return tuple(str(path.relative_to(project)) for path in sorted((project / _DRAFTS).glob("*.yaml")))


def now() -> str:
    """This moment, as records have it."""
    return f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _each(folder: Path, pattern: str, what: str) -> Iterator[tuple[Path, dict[str, Any]]]:
    for path in sorted(folder.glob(pattern)):
        try:
            data = yaml.load(path.read_text(encoding="utf-8"), yaml.CSafeLoader)
        except (OSError, yaml.YAMLError) as error:
            raise _no(path, what, error) from None
        yield path, data if isinstance(data, dict) else {}


def _made(path: Path, data: Mapping[str, Any]) -> Made:
    try:
        trial = _TRIAL.validate_python({**data["trial"], "record": str(_TRIALS / path.name)})
        stack = data.get("stack") or {}
        core = Core.model_validate(stack["core"]) if "core" in stack else None
        host, condition = stack.get("host") or {}, data.get("condition") or {}
        return Made(trial, core, Host.model_validate(host), Condition.model_validate(condition))
    except (ValidationError, KeyError, TypeError) as error:
        raise _no(path, "trial", error) from None


def _conclusion(path: Path, data: Mapping[str, Any]) -> Conclusion:
    try:
        return Conclusion.model_validate(data["verdict"])
    except (ValidationError, KeyError) as error:
        raise _no(path, "verdict", error) from None


def _no(path: Path, what: str, error: Exception) -> Trouble:
    return Trouble(f"{path} is no {what}: {' '.join(str(error).split())[:200]}", "remove it")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep other runs from taking the same number."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise _unwritable(folder, error) from None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _unwritable(folder: Path, error: OSError) -> Trouble:
    return Trouble(f"{folder} cannot be written: {error.strerror}", "make the folder writable")


def _write(project: Path, path: Path, tree: Mapping[str, Any]) -> None:
    """Put a record at `path`, whole or not at all."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (project / FOLDER / ".gitignore").write_text("*\n")
        fresh = path.with_suffix(f".{os.getpid()}")
        fresh.write_text(yaml.safe_dump(dict(tree), sort_keys=False, allow_unicode=True, width=120), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise _unwritable(path.parent, error) from None
