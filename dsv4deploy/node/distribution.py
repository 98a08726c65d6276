"""A wheel in place of an installed distribution: which files go, which come, and which are the same."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path
from typing import Any, Collection, Iterable, Iterator, NamedTuple

from dsv4deploy.node import files, wheel
from dsv4deploy.node.patchset import PatchSet, Written, expected, file_at, free
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.venv import Venv, run

_PROBE = r"""
import json, sys, sysconfig
from importlib import metadata
answer = {"site": sysconfig.get_path("purelib"), "root": None, "info": None, "files": None}
try:
    dist = metadata.distribution(sys.argv[1])
    recorded = dist.read_text("RECORD") is not None
    answer.update(root=str(dist.locate_file("")), info=str(getattr(dist, "_path", "")))
    answer["files"] = [str(one) for one in dist.files or ()] if recorded else None
except metadata.PackageNotFoundError:
    pass
print("\n" + json.dumps(answer))
"""
_ELSEWHERE = "leave `kernels.in_place` out: a copy goes beside it"


class Installed(NamedTuple):
    """What a wheel takes the place of: the folder beside whose packages it lies, and its files, as paths from there."""

    root: Path
    files: frozenset[str]


def wheels(patches: PatchSet) -> list[dict[str, Any]]:
    return [entry for entry in patches.entries if entry["kind"] == "wheel"]


def installed(entry: dict[str, Any], venv: Venv, prefix: Path) -> Installed:
    """What the wheel of `entry` takes the place of: the files of RECORD, or of the folders where there is none.

    Compiled files, and scripts outside of the site-packages, are none of them.

    Raises:
        Trouble: it is installed from its sources, by something that keeps no `dist-info`, or outside of the venv.
    """
    package, said = venv.packages.get(entry["package"]), run(venv.python, _PROBE, [entry["distribution"]])
    root = package.folder.parent if package else Path(said["root"] or said["site"])
    told = f"patch {entry['name']}: {entry['distribution']}"
    if package and (package.editable or (root.resolve() != Path(said["root"] or said["site"]).resolve())):
        raise Trouble("patch-misfit", f"{told} runs from its sources in {package.folder}", _ELSEWHERE)
    if prefix not in root.resolve().parents:
        raise Trouble("patch-misfit", f"{told} lies in {root}, which is no folder of {prefix}", _ELSEWHERE)
    info = Path(said["info"]).name if said["info"] else ""
    if info and not info.endswith(".dist-info"):
        raise Trouble("patch-misfit", f"{told} was not installed from a wheel: it has {info}", _ELSEWHERE)
    if said["files"] is not None:
        return Installed(root, _inside(root, said["files"]))
    folders = [root / name for name in (entry["package"] if package else "", info) if name]
    return Installed(
        root, _inside(root, (one.relative_to(root).as_posix() for top in folders for one in top.rglob("*")))
    )


def _inside(root: Path, paths: Iterable[str]) -> frozenset[str]:
    parts = ((path, path.split("/")) for path in paths if not path.startswith("/"))
    return frozenset(path for path, names in parts if not {"..", "__pycache__"} & {*names} and _is_file(root / path))


def _is_file(path: Path) -> bool:
    return path.is_symlink() or path.is_file()


def changes(patches: PatchSet, venv: Venv, prefix: Path) -> Iterator[tuple[Path, Written]]:
    """Every file of each distribution that a wheel replaces, and of the wheel, with its place; nothing is touched.

    Raises:
        Trouble: a wheel does not fit, or would write over what is not of its distribution.
    """
    for entry in wheels(patches):
        _refuse_two(patches, entry)
        old, data = installed(entry, venv, prefix), patches.part(entry, entry["parts"][0]["name"])
        _refuse_another(entry)
        if entry["package"] in venv.packages:
            expected(entry, venv.packages[entry["package"]].folder)
        for path in sorted(old.files - set(wheel.contents(data))):
            place = file_at(entry, old.root, path)
            yield place, Written(path, entry["name"], _known(place), None, None, 0)
        for path, mode, content in wheel.laid(data):
            place = file_at(entry, old.root, path)
            _refuse_foreign(entry, old, path, place)
            after = hashlib.sha256(content).hexdigest()
            yield place, Written(path, entry["name"], files.digest(place), after, content, mode)


def _known(place: Path) -> str:
    found = files.digest(place)
    if found is None:
        raise Trouble("system", f"{place} cannot be read", "apply as its owner")
    return found


def _refuse_two(patches: PatchSet, entry: dict[str, Any]) -> None:
    others = [one["name"] for one in patches.entries if one["package"] == entry["package"] and one is not entry]
    if others:
        told = f"patches {entry['name']} and {others[0]} change the same package {entry['package']}"
        raise Trouble("patch-misfit", told, "build the change into the wheel, or leave `kernels.in_place` out")


def _refuse_another(entry: dict[str, Any]) -> None:
    name = wheel.tags(entry["parts"][0]["name"]).name
    if _plain(name) != _plain(entry["distribution"]):
        told = f"patch {entry['name']}: its wheel is of {name}, it should replace {entry['distribution']}"
        raise Trouble("patch-misfit", told, "correct `fits.package` or `fits.distribution` in its patch.yaml")


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def _refuse_foreign(entry: dict[str, Any], old: Installed, path: str, place: Path) -> None:
    if files.digest(place) is None:
        free(entry, old.root, place)
    elif path not in old.files and not path.startswith(f"{entry['package']}/"):
        told = f"patch {entry['name']}: {place} is there, and is no file of {entry['distribution']}"
        raise Trouble("patch-misfit", told, "build the wheel without it, or leave `kernels.in_place` out")


def replaced(patches: PatchSet, venv: Venv) -> dict[str, dict[str, Any]]:
    """What the journal keeps of each wheel, by the name of its patch.

    `package`, the `version` that it has now and those it had `before` (none if it was not there), and the path of its
    `record`, by which it is known whether an installer has replaced it since.

    Raises:
        Trouble: it has no metadata of its own.
    """
    found = {}
    for entry in wheels(patches):
        package = venv.packages.get(entry["package"])
        name = entry["parts"][0]["name"]
        try:
            version, record = wheel.about(patches.part(entry, name))
        except wheel.WheelError as error:
            raise Trouble("patch-misfit", f"patch {entry['name']}: {name}: {error}") from None
        before = [package.version] if package else []
        found[entry["name"]] = {"package": entry["package"], "version": version, "before": before, "record": record}
    return found


def emptied(entries: list[dict[str, Any]], names: Collection[str]) -> list[dict[str, Any]]:
    """The folders that may be empty once wheels, of the patches `names`, have replaced files; the innermost first.

    An empty `dist-info` would pass for a second version, an empty package for one without a file.
    """
    found = {}
    for entry in (one for one in entries if one["after"] is None and one["patch"] in names):
        parents = list(Path(entry["path"]).parents)[: entry["name"].count("/")]
        for folder in (one for parent in parents for one in (parent, parent / "__pycache__") if one.is_dir()):
            seen = folder.stat()
            known = {"mode": seen.st_mode & 0o7777, "owner": [seen.st_uid, seen.st_gid]}
            found[str(folder)] = {"path": str(folder), "patch": entry["patch"], **known}
    return sorted(found.values(), key=lambda one: len(one["path"]), reverse=True)
