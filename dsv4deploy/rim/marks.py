"""Keeps marks beside a profile, one YAML file each, and successes in the folder that is in no git."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from dsv4deploy.model.mark import Mark, Success
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.project import FOLDER, MARKS, REHEARSED_MARKS
from dsv4deploy.stages.marks import with_sightings

_SUCCESSES = FOLDER / "successes.jsonl"
# Whoever sees the same failure writes the same file; what differs stands on lines of its own, and both are kept.
_ATTRIBUTES = "*.yaml merge=union\n"
_TAKE_BACK = "take it back out of version control"


def successes(project: Path) -> tuple[Success, ...]:
    """What was ready before; a line that was left half written is left out."""
    try:
        lines = (project / _SUCCESSES).read_text(encoding="utf-8").splitlines()
    except OSError:
        return ()
    return tuple(_successes(lines))


def read(path: Path) -> Mark:
    """The mark at `path`.

    Raises:
        Trouble: it cannot be read, or is no mark.
    """
    try:
        written = path.read_text(encoding="utf-8")
        return Mark.model_validate(yaml.load(written, yaml.CSafeLoader))
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror}") from None
    except yaml.MarkedYAMLError as error:
        conflict = any(line.startswith("<<<<<<<") for line in written.splitlines())
        told = "an unfinished merge" if conflict else error.problem or "broken YAML"
        remedy = "keep the sightings of both sides, and take out the lines that git put in" if conflict else _TAKE_BACK
        at = error.problem_mark.line + 1 if error.problem_mark else 1
        raise Trouble(f"{path}:{at} is no mark: {told}", remedy) from None
    except ValidationError as error:
        raise _misshapen(path, error) from None
    except (yaml.YAMLError, ValueError) as error:
        raise Trouble(f"{path} is no mark: {error}", _TAKE_BACK) from None


def _misshapen(path: Path, error: ValidationError) -> Trouble:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    if not key:
        return Trouble(f"{path} is no mark: it holds no keys", _TAKE_BACK)
    if first["type"] == "extra_forbidden":
        return Trouble(f"{path}: nothing is known of `{key}`", "update dsv4deploy: a newer one may have written it")
    return Trouble(f"{path} is no mark: `{key}`: {first['msg']}", _TAKE_BACK)


def keep(mark: Mark, project: Path) -> tuple[Path, Mark]:
    """Write a mark, or add its sighting to the same one that is there; where it is, and what it holds now.

    Raises:
        Trouble: it cannot be written.
    """
    path = project / (REHEARSED_MARKS if mark.core.rehearsal else MARKS) / f"{mark.id}.yaml"
    whole = with_sightings(read(path), mark.sightings) if path.exists() else mark
    write(whole, path)
    return path, whole


def write(mark: Mark, path: Path) -> None:
    """Put a mark at `path`, whole or not at all.

    Raises:
        Trouble: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        attributes = path.parent / ".gitattributes"
        if not attributes.exists():
            attributes.write_text(_ATTRIBUTES, encoding="utf-8")
        fresh = path.with_suffix(".new")
        fresh.write_text(text(mark), encoding="utf-8")
        fresh.replace(path)
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}", "make the folder writable") from None


def text(mark: Mark) -> str:
    """A mark as YAML; a sighting is one line, so that two that were added apart can be united by line."""
    tree = mark.model_dump(mode="json", by_alias=True, exclude_defaults=True)
    sightings = tree.pop("sightings")
    lines = [f"- {_line(one)}" for one in sightings]
    head = yaml.safe_dump(tree, sort_keys=False, allow_unicode=True, width=10**6)
    return "\n".join([head.rstrip("\n"), "sightings:", *lines]) + "\n"


def remember(success: Success, project: Path) -> None:
    """Add a success to those that are kept.

    Raises:
        Trouble: it cannot be written.
    """
    path = project / _SUCCESSES
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        (path.parent / ".gitignore").write_text("*\n")
        with path.open("a", encoding="utf-8") as file:
            file.write(success.model_dump_json() + "\n")
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}", "make the folder writable") from None


def _line(tree: Any) -> str:  # noqa: ANN401 (any JSON)
    return json.dumps(tree, ensure_ascii=False)


def _successes(lines: Sequence[str]) -> Iterator[Success]:
    for line in lines:
        try:
            yield Success.model_validate_json(line)
        except ValidationError:
            continue
