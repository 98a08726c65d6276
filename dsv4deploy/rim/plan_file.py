"""Keeps a plan in a file together with the bundles it is about, and reads it back."""

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, NamedTuple

from dsv4deploy.model.bundle import readable
from dsv4deploy.model.plan import Plan, Wanted
from dsv4deploy.model.trouble import Exit, Trouble

_SCHEMA = "planned/1"


class Planned(NamedTuple):
    """What a plan file holds: `steps` as `(node, name, action, release, current)`."""

    steps: tuple[tuple[str, str, str, str, str | None], ...]
    wanted: tuple[Wanted, ...]
    folders: Mapping[str, Path]


def write(path: Path, plan: Plan, wanted: Sequence[Wanted], folders: Mapping[str, Path]) -> None:
    """Keep `plan` and its bundles at `path`, readable by its owner alone: the bundles hold the environment.

    Raises:
        Trouble: it cannot be written.
    """
    document = {
        "schema": _SCHEMA,
        "steps": [{**asdict(step), "action": step.action.value} for step in plan.steps],
        "nodes": [{"node": one.node, "release": one.digest} for one in wanted],
        "bundles": {digest: _files(folder) for digest, folder in folders.items()},
    }
    try:
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "w", encoding="utf-8") as file:
            os.fchmod(file.fileno(), 0o600)
            json.dump(document, file)
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}", "name another file with -o") from None


def read(path: Path, folder: Path) -> Planned:
    """The plan at `path`, with its bundles unpacked below `folder`.

    Raises:
        Trouble: it is no plan of ours.
    """
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
        folders = {digest: _unpacked(folder / digest, files) for digest, files in document["bundles"].items()}
        manifests = {digest: json.loads((at / "manifest.json").read_bytes()) for digest, at in folders.items()}
        wanted = tuple(
            Wanted(one["node"], manifests[one["release"]], _texts(folders[one["release"]])) for one in document["nodes"]
        )
        steps = tuple((s["node"], s["name"], s["action"], s["release"], s["current"]) for s in document["steps"])
    except OSError as error:
        raise Trouble(f"{path} cannot be read: {error.strerror}", "name the file that plan -o wrote") from None
    except (ValueError, KeyError, TypeError):
        raise Trouble(f"{path} is no plan that plan -o wrote", "plan again", Exit.UNREADABLE) from None
    return Planned(steps, wanted, folders)


def _files(folder: Path) -> dict[str, Any]:
    return {
        str(file.relative_to(folder)): {
            "mode": f"{file.stat().st_mode & 0o7777:04o}",
            "data": base64.b64encode(file.read_bytes()).decode(),
        }
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }


def _unpacked(folder: Path, files: Mapping[str, Mapping[str, str]]) -> Path:
    folder.mkdir()
    for name, file in files.items():
        path = folder / name
        if not path.resolve().is_relative_to(folder.resolve()):
            raise ValueError(f"{name} leads out of the bundle")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(base64.b64decode(file["data"]))
        path.chmod(int(file["mode"], 8))
    return folder


def _texts(folder: Path) -> dict[str, str]:
    files = [file for file in folder.rglob("*") if file.is_file() and file.name != "manifest.json"]
    found = {str(file.relative_to(folder)): readable(file.read_bytes()) for file in files}
    return {path: text for path, text in found.items() if text is not None}
