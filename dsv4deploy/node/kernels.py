"""The patches of one release: laid, looked at, proved and undone, wherever they are."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Iterator, Mapping

from dsv4deploy.node import distribution, files, inplace, procs, proof, shadow, wheel
from dsv4deploy.node.patchset import PatchSet, expected, patchset
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.venv import Package, ask

# Start times of processes are known to the hundredth of a second, the boot to the second.
_CLOCK_S = 1.5


def install(release: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Lay the patches of a release; in place only if the manifest asks for it."""
    if in_place(manifest):
        return {"packages": _left_out(release, manifest), **settle(release, manifest)}
    return shadow.lay(release, manifest)


def _left_out(release: Path, manifest: dict[str, Any]) -> list[dict[str, Any]]:
    """The packages that wheels bring in place, each with what of its wheel only an installer could place."""
    patches = patchset(manifest, release)
    if patches is None:
        return []
    data = {one["package"]: patches.part(one, one["parts"][0]["name"]) for one in distribution.wheels(patches)}
    return [{"name": name, "how": "in place", "left_out": wheel.left_out(one)} for name, one in data.items()]


def settle(release: Path, manifest: dict[str, Any], old: dict[str, Any] | None = None) -> dict[str, Any]:
    """Bring the venv to what this release says: its patches in place, or none of ours; its server must be stopped.

    `old` is the release that ran before, perhaps with patches in another venv.
    """
    if old and old["engine"].get("python") != manifest["engine"].get("python"):
        revert_in_place(old)
    patches, python = patchset(manifest, release), manifest["engine"].get("python")
    if patches and in_place(manifest):
        return inplace.apply(patches, manifest["name"])
    if python and inplace.read(inplace.prefix_of(python)):
        return inplace.revert(inplace.prefix_of(python), manifest["name"])
    return {"changed": False}


def revert(release: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Undo the patches of a release: the venv is then as it was, and the release cannot start."""
    undone = revert_in_place(manifest)
    gone = shadow.remove(release)
    return {**undone, "changed": undone["changed"] or gone}


def revert_in_place(manifest: dict[str, Any]) -> dict[str, Any]:
    """Undo what this deployment patched in its venv, if it did; a venv that is gone has nothing to undo."""
    python = manifest["engine"].get("python")
    if not python or not in_place(manifest) or not inplace.prefix_of(python).exists():
        return {"changed": False, "left": []}
    return inplace.revert(inplace.prefix_of(python), manifest["name"])


def status(release: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """What every patched file and package is now: `fine`, and why not."""
    patches = patchset(manifest, release)
    if patches is None:
        others = _patched_by_others(manifest)
        return {"place": None, "fine": not others, "patches": [], "packages": [], "others": others}
    if in_place(manifest):
        return _status_in_place(patches)
    return _status_of_shadow(patches, release)


def verify(release: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """The status, and what the interpreter really imports when it is started as the service starts it."""
    answer = status(release, manifest)
    if answer["place"] is None or not answer["fine"]:
        return {**answer, "imports": []}
    patches = patchset(manifest, release)
    names = patches.packages if patches else {}
    if answer["place"] == "shadow":
        root = release / shadow.NAME
        imports = proof.imported(release, manifest, {name: root / name for name in names}, root)
    else:
        venv = ask(manifest["engine"]["python"], names)
        imports = proof.imported(release, manifest, {n: one.folder for n, one in venv.packages.items()}, None)
    return {**answer, "imports": imports, "fine": all(one["ok"] for one in imports)}


def drift(answer: dict[str, Any]) -> list[dict[str, str]]:
    """Everything in a status that is not as it was laid, as a path and what it is."""
    found = [
        {"path": one["path"], "what": one["state"]}
        for patch in answer["patches"]
        for one in patch["files"]
        if one["state"] != "patched"
    ]
    found += [
        {"path": one["folder"], "what": one["told"]}
        for one in answer["packages"]
        if one["state"] not in ("pristine", "edited")
    ]
    return found + list(answer.get("others", []))


def runs(release: Path, manifest: dict[str, Any], answer: dict[str, Any], pid: int, started: float) -> bool:
    """Whether a process, started at a time of the clock, runs the patched code that is there now.

    `answer` is the status. It does not if a file was changed since, or if it looks for packages elsewhere first.
    """
    if answer["place"] is None:
        return True
    if answer["place"] == "shadow":
        root, mark = release / shadow.NAME, release / shadow.NAME / shadow.STATE
        first = (procs.environ(pid) or {}).get("PYTHONPATH", str(root)).split(os.pathsep)[0]
        if os.path.realpath(first) != os.path.realpath(str(root)):
            return False
    else:
        mark = inplace.journal_of(inplace.prefix_of(manifest["engine"]["python"]))
    return bool(answer["fine"]) and mark.stat().st_mtime <= started + _CLOCK_S


def foresee(manifest: dict[str, Any], release: Path) -> list[dict[str, Any]]:
    """What laying the patches will take, for each package, as far as that can be told before their files are here.

    `how` is `linked`, `copied` or `unpacked`, as `shadow.lay` will say it, or `in place`; `files` and `bytes` are those
    of the package.

    Raises:
        Trouble: the patches do not fit what is installed, cannot be laid there, or somebody else uses the venv otherwise.
    """
    prefix = inplace.prefix_of(manifest["engine"]["python"])
    patches = patchset(manifest, release)
    if patches is None or not in_place(manifest):
        inplace.refuse_patched_for_others(prefix, manifest["name"])
    if patches is None:
        return []
    venv = patches.venv(inplace.before_wheels(prefix))
    folders = {name: package.folder for name, package in venv.packages.items()}
    # What is patched in place already is judged against its originals, once they are back.
    for entry in [] if inplace.read(prefix) else patches.entries:
        if entry["package"] in folders:
            expected(entry, folders[entry["package"]])
    _refuse_sources_of_others(release, manifest, folders)
    if not in_place(manifest):
        return shadow.foresee(patches, folders)
    _refuse_neighbours(release, manifest, prefix)
    inplace.foresee(patches, manifest["name"], venv)
    return [{"name": name, "how": "in place"} for name in patches.packages]


def _refuse_neighbours(release: Path, manifest: dict[str, Any], prefix: Path) -> None:
    """See that nobody else on this node runs the venv that is to be patched in place, but for the same patches there."""
    for other, theirs in _neighbours(release, manifest):
        if theirs == prefix and not (in_place(other) and other.get("patches")):
            told = f"{other['name']} runs {prefix} as it is installed, and would run these patches too"
            raise Trouble("patch-shared", told, "give each its own venv, or leave `kernels.in_place` out")


def _refuse_sources_of_others(release: Path, manifest: dict[str, Any], folders: Mapping[str, Path]) -> None:
    """See that no package is a folder that another venv installed editably too, and that is patched in place from there."""
    prefix = inplace.prefix_of(manifest["engine"]["python"])
    for other, theirs in _neighbours(release, manifest):
        patched = inplace.originals(theirs) if theirs != prefix else {}
        for folder in folders.values():
            if any(folder in path.parents for path in patched):
                told = f"{folder} is patched in place for {other['name']}, through {theirs}"
                raise Trouble("patch-shared", told, "give each its own checkout of the sources")


def _neighbours(release: Path, manifest: dict[str, Any]) -> Iterator[tuple[dict[str, Any], Path]]:
    """What the other deployments on this node run, each with its venv."""
    for path in sorted(release.parents[2].glob("*/current/manifest.json")):
        other = files.read_json(path) or {}
        python = (other.get("engine") or {}).get("python")
        if python and other.get("name") != manifest["name"]:
            yield other, inplace.prefix_of(python)


def in_place(manifest: dict[str, Any]) -> bool:
    return bool((manifest.get("patching") or {}).get("in_place"))


def _status_of_shadow(patches: PatchSet, release: Path) -> dict[str, Any]:
    root = release / shadow.NAME
    state = files.read_json(root / shadow.STATE)
    if state is None:
        missing = [{"name": one["name"], "state": "not installed", "files": []} for one in patches.entries]
        return {"place": "shadow", "folder": str(root), "fine": False, "patches": missing, "packages": []}
    odd = {one["path"]: one["what"] for one in shadow.differences(release)}
    found = []
    for entry in patches.entries:
        mine = {path: one for path, one in state["patched"].items() if one["patch"] == entry["name"]}
        rows = [_row(root / path, path, one, odd.pop(path, None)) for path, one in mine.items()]
        found.append({"name": entry["name"], "state": _worst(rows), "files": rows})
    packages = [_origin(patches, one, state) for one in state["packages"] if one.get("from")]
    others = [{"path": path, "what": what} for path, what in sorted(odd.items())]
    fine = all(one["state"] == "patched" for one in found) and not any(one["what"] != "added" for one in others)
    return {
        "place": "shadow",
        "folder": str(root),
        "fine": fine and all(one["state"] in ("pristine", "edited") for one in packages),
        "patches": found,
        "packages": packages,
        "others": others,
        "extensions": state["extensions"],
    }


def _patched_by_others(manifest: dict[str, Any]) -> list[dict[str, str]]:
    """Whether a venv that should be as installed is patched in place for somebody else."""
    python = manifest["engine"].get("python")
    owners = (inplace.read(inplace.prefix_of(python)) or {}).get("owners", []) if python else []
    others = [one for one in owners if one != manifest["name"]]
    what = f"patched in place for {', '.join(others)}"
    return [{"path": str(inplace.prefix_of(python)), "what": what}] if others else []


def _row(target: Path, path: str, patched: dict[str, Any], odd: str | None) -> dict[str, str]:
    if odd == "drifted" and files.digest(target) == patched["before"]:
        odd = "pristine"
    if patched["after"] is None:
        odd = "drifted" if target.exists() else None
    return {"path": path, "state": odd or "patched"}


def _worst(rows: list[dict[str, str]]) -> str:
    return next((one["state"] for one in rows if one["state"] != "patched"), "patched")


def _origin(patches: PatchSet, package: dict[str, Any], state: dict[str, Any]) -> dict[str, Any]:
    """What became of the package in the venv since its copy was made."""
    answer = {"name": package["name"], "folder": package["from"], "how": package["how"], "version": package["version"]}
    edited = package["unlike_record"]
    if not Path(package["from"]).is_dir():
        return {**answer, "state": "gone", "told": f"{package['name']} is no longer there"}
    originals = inplace.originals(inplace.prefix_of(patches.python))
    if shadow.stamp(Path(package["from"]), originals) == package["stamp"]:
        told = f"{len(edited)} files were not as their wheel brought them: {', '.join(edited[:3])}" if edited else ""
        return {**answer, "state": "edited" if edited else "pristine", "told": told}
    now = _packages(patches).get(package["name"])
    if now is None:
        return {**answer, "state": "gone", "told": f"{patches.python} finds no {package['name']}"}
    if now.version != package["version"]:
        told = f"the venv has {package['name']} {now.version} since, the release runs {package['version']}"
        return {**answer, "state": "upgraded", "told": told}
    unlike = _unlike_copy(now, state, originals)
    again = "written anew with the same content" if now.editable else "reinstalled in the venv since"
    return {**answer, "state": "changed", "told": f"{', '.join(unlike[:3])} edited since" if unlike else again}


def _unlike_copy(package: Package, state: dict[str, Any], originals: Mapping[Path, Path | None]) -> list[str]:
    """The files of a package that are not what its copy was made of."""
    made_of = {path: known for path, known in state["files"].items() if path.startswith(f"{package.name}/")}
    made_of.update({path: one["before"] for path, one in state["patched"].items()})
    there = {path: package.folder.parent / path for path in made_of}
    there.update({f"{package.name}/{path}": package.folder / path for path in shadow.walk(package.folder)})
    known = {path: originals.get(file, file) for path, file in there.items()}
    return sorted(path for path, file in known.items() if (file and shadow.content(file)) != made_of.get(path))


def _status_in_place(patches: PatchSet) -> dict[str, Any]:
    journal = inplace.read(inplace.prefix_of(patches.python))
    if journal is None or journal["digest"] != patches.digest or journal["state"] != "applied":
        state = "half done" if journal and journal["state"] != "applied" else "not installed"
        found = [{"name": one["name"], "state": state, "files": []} for one in patches.entries]
        return {"place": "in-place", "fine": False, "patches": found, "packages": []}
    now = _packages(patches)
    again = inplace.reinstalled(journal)
    rows = [
        (one["patch"], {"path": one["path"], "state": _in_venv(one, now, journal, again)}) for one in journal["files"]
    ]
    found = []
    for entry in patches.entries:
        mine = [row for name, row in rows if name == entry["name"]]
        if entry["kind"] == "wheel":
            mine = [row for row in mine if row["state"] != "patched"]
        found.append({"name": entry["name"], "state": _worst(mine), "files": mine})
    return {
        "place": "in-place",
        "fine": all(one["state"] == "patched" for one in found),
        "patches": found,
        "packages": [],
        "owners": journal["owners"],
        "extensions": journal.get("extensions", {}),
    }


def _in_venv(entry: dict[str, Any], now: Mapping[str, Package], journal: dict[str, Any], again: list[str]) -> str:
    """What a file is now; `again` are the patches whose wheel was replaced by an installer."""
    found = files.digest(Path(entry["path"]))
    if found == entry["after"]:
        return "patched"
    wheels = journal.get("wheels", {})
    package = now.get(wheels.get(entry["patch"], {}).get("package", entry["name"].split("/")[0]))
    if package and package.version != journal["versions"].get(package.name):
        return f"overwritten by the upgrade to {package.version}"
    if package and found is not None and found == package.record.get(entry["name"]):
        return "overwritten by a reinstall"
    if package and entry["patch"] in again:
        return "overwritten by a reinstall"
    return "missing" if found is None else "pristine" if found == entry["before"] else "drifted"


def _packages(patches: PatchSet) -> Mapping[str, Package]:
    """The packages as they are in the venv now; none if they cannot be found."""
    try:
        return ask(patches.python, patches.packages, may_lack=patches.packages).packages
    except Trouble:
        return {}


def refuse_unpatched(release: Path, manifest: dict[str, Any]) -> None:
    """See that a release with patches can start.

    Raises:
        Trouble: its shadow packages are not there, or not as they were made.
    """
    if patchset(manifest, release) is None or in_place(manifest):
        return
    bad = [one for one in shadow.differences(release) if one["what"] != "added"]
    if bad:
        raise Trouble("broken-upload", f"patched file {bad[0]['path']} is {bad[0]['what']}", "apply again")
