"""Shadow packages: a copy of each patched package inside the release, that comes before the venv's own.

The copy is made of hard links, so that it costs names and no space, and each changed file is a new one beside them:
the venv keeps every byte. It is built under another name and renamed when it is whole; a release without it does not
start. Undo is the release link.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import hashlib
import json
import os
import shutil
import time
from pathlib import Path
from typing import Any, Iterator, Mapping

from dsv4deploy.node import files, inplace, wheel
from dsv4deploy.node.files import text
from dsv4deploy.node.front import SITECUSTOMIZE
from dsv4deploy.node.patchset import PatchSet, Written, expected, extensions, patchset, room, unlike_record, written
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.venv import Package, Venv, run

NAME = "shadow"
STATE = ".dsv4deploy.json"
_CACHES = "__pycache__"
_LINKLESS = (errno.EXDEV, errno.EPERM, errno.EACCES, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)

_FIND = """
import json, sys
from importlib import util
print("\\n" + json.dumps({one: getattr(util.find_spec(one), "origin", None) for one in json.loads(sys.argv[1])}))
"""


def lay(release: Path, manifest: dict[str, Any]) -> dict[str, Any]:
    """Make the shadow packages of an unpacked release as its manifest says; a second time changes nothing.

    Answers `changed`, and `packages`: for each its files, bytes and seconds, and whether they are `linked` or `copied`
    (and `why`).

    Raises:
        Trouble: the patches do not fit what is installed, or there is no room; nothing is left half done.
    """
    patches = patchset(manifest, release)
    if patches is None or _in_place(manifest):
        return {"changed": False, "packages": []}
    inplace.refuse_patched_for_others(inplace.prefix_of(patches.python), manifest["name"])
    with _alone(release):
        _clear(release)
        venv = patches.venv(inplace.before_wheels(inplace.prefix_of(patches.python)))
        key = _key(patches, venv)
        state = files.read_json(release / NAME / STATE) or {}
        if state.get("key") == key and not differences(release):
            return {"changed": False, "packages": state["packages"]}
        fresh = release / f".{NAME}.new"
        try:
            state = _build(patches, venv, fresh, key)
        except BaseException as error:
            shutil.rmtree(str(fresh), ignore_errors=True)
            if isinstance(error, OSError) and error.errno == errno.ENOSPC:
                raise Trouble("disk", f"no space left for {release / NAME}", "free some space") from None
            raise
        _put(release, fresh)
        return {"changed": True, "packages": state["packages"]}


def foresee(patches: PatchSet, folders: Mapping[str, Path]) -> list[dict[str, Any]]:
    """For each package in `folders` how its copy will be made; nothing if the release has one.

    `files` and `bytes` are those that the package has now, `seconds` what its last copy here took, or None.
    """
    if (patches.release / NAME / STATE).exists():
        return []
    unpacked = {entry["package"] for entry in patches.entries if entry["kind"] == "wheel"}
    found: list[dict[str, Any]] = [{"name": name, "how": "unpacked"} for name in sorted(unpacked)]
    for name, folder in folders.items():
        if name not in unpacked:
            seen = [os.lstat(str(folder / path)) for path in walk(folder)]
            how = "linked" if _linkable(folder, patches.release) else "copied"
            size = {"files": len(seen), "bytes": sum(one.st_size for one in seen)}
            found.append({"name": name, "how": how, **size, "seconds": _last_seconds(patches.release, name, how)})
    return found


def _last_seconds(release: Path, package: str, how: str) -> float | None:
    states = sorted(release.parent.glob(f"*/{NAME}/{STATE}"), key=lambda one: one.stat().st_mtime)
    copies = [one for state in states for one in (files.read_json(state) or {}).get("packages", [])]
    known = [one["seconds"] for one in copies if (one["name"], one["how"]) == (package, how)]
    return known[-1] if known else None


def _linkable(folder: Path, release: Path) -> bool:
    """Whether hard links of the files in `folder` can stand in a release: one file system, and files of our own."""
    there = next(one for one in release.parents if one.exists())
    own = os.geteuid() in (0, folder.stat().st_uid) or text("/proc/sys/fs/protected_hardlinks").strip() == "0"
    return own and folder.stat().st_dev == there.stat().st_dev


def remove(release: Path) -> bool:
    """Take the shadow packages away; whether there were any. Nothing outside the release was ever changed."""
    with _alone(release):
        _clear(release)
        there = (release / NAME).exists()
        if there:
            os.replace(str(release / NAME), str(release / f".{NAME}.old"))
            _clear(release)
        return there


def differences(release: Path) -> list[dict[str, str]]:
    """Every file of the shadow that is not as it was built: `missing`, `drifted` or `added`; compiled caches aside."""
    shadow = release / NAME
    state = files.read_json(shadow / STATE)
    if state is None:
        return [{"path": str(shadow), "what": "missing"}]
    found, there = [], set(walk(shadow)) - {STATE}
    for path, wanted in state["files"].items():
        if path not in there:
            found.append({"path": path, "what": "missing"})
        elif content(shadow / path) != wanted:
            found.append({"path": path, "what": "drifted"})
    return found + [{"path": path, "what": "added"} for path in sorted(there - set(state["files"]))]


def walk(folder: Path) -> Iterator[str]:
    """Every file and link below `folder`, except compiled caches."""
    for here, folders, names in os.walk(str(folder)):
        for name in [one for one in folders if os.path.islink(os.path.join(here, one))]:
            names.append(name)
        folders[:] = sorted(one for one in folders if one != _CACHES and one not in names)
        for name in names:
            yield os.path.relpath(os.path.join(here, name), str(folder))


def stamp(folder: Path, originals: Mapping[Path, Path | None]) -> str:
    """What changes when any file of a package does: names, sizes and times; nothing is read.

    What is patched in place counts as the original that it will be again; see `inplace.originals`.
    """
    total = hashlib.sha256()
    removed = {os.path.relpath(str(path), str(folder)) for path in originals if folder in path.parents}
    for path in sorted({*walk(folder), *removed}):
        there = originals.get(folder / path, folder / path)
        with contextlib.suppress(FileNotFoundError):
            if there is None:
                continue
            seen = os.lstat(str(there))
            total.update(f"{path}\0{seen.st_size}\0{seen.st_mtime_ns}\n".encode())
    return total.hexdigest()


def _in_place(manifest: dict[str, Any]) -> bool:
    return bool((manifest.get("patching") or {}).get("in_place"))


def _key(patches: PatchSet, venv: Venv) -> str:
    """Equal for an equal result: the patches, and the packages that they are laid over."""
    originals = inplace.originals(inplace.prefix_of(patches.python))
    stamps = [[one.name, str(one.folder), stamp(one.folder, originals)] for one in venv.packages.values()]
    return hashlib.sha256(repr([patches.digest, patches.python, stamps]).encode()).hexdigest()


def _build(patches: PatchSet, venv: Venv, fresh: Path, key: str) -> dict[str, Any]:
    fresh.mkdir(mode=0o755)
    packages = _wheels(patches, venv, fresh)
    originals = inplace.originals(inplace.prefix_of(patches.python))
    for package in venv.packages.values():
        if not (fresh / package.name).exists():
            packages.append(_copy(package, fresh, originals))
    changes = _change(patches, venv, fresh)
    front = _first(patches, fresh)
    state = {
        "schema": "shadow/1",
        "key": key,
        "python": patches.python,
        "front": front,
        "packages": packages,
        "extensions": extensions(patches, venv, fresh.joinpath),
        "patched": {one.path: {"patch": one.patch, "before": one.before, "after": one.after} for one in changes},
        "files": {path: content(fresh / path) for path in sorted(walk(fresh))},
    }
    files.write_json(fresh / STATE, state)
    files.sync(fresh)
    return state


def _wheels(patches: PatchSet, venv: Venv, fresh: Path) -> list[dict[str, Any]]:
    answers = []
    for entry in (one for one in patches.entries if one["kind"] == "wheel"):
        began = time.monotonic()
        if entry["package"] in venv.packages:
            expected(entry, venv.packages[entry["package"]].folder)
        data = patches.part(entry, entry["parts"][0]["name"])
        room(fresh, 4 * len(data))
        laid = wheel.unpack(data, fresh)
        answers.append(
            {
                "name": entry["package"],
                "how": "unpacked",
                "files": len(laid),
                "bytes": sum((fresh / path).stat().st_size for path in laid),
                "seconds": round(time.monotonic() - began, 2),
                "left_out": wheel.left_out(data),
            }
        )
    return answers


def _copy(package: Package, fresh: Path, originals: Mapping[Path, Path | None]) -> dict[str, Any]:
    """The package and its libraries, file by file, as they are without what is patched in place."""
    began, copier = time.monotonic(), _Copier(fresh, [package.folder, *_libraries(package)])
    for source in copier.sources:
        for here, folders, names in os.walk(str(source)):
            target = fresh / source.name / os.path.relpath(here, str(source))
            target.mkdir(parents=True, exist_ok=True)
            os.chmod(str(target), os.stat(here).st_mode & 0o7777 | 0o700)
            links = [one for one in folders if os.path.islink(os.path.join(here, one))]
            folders[:] = [one for one in folders if one not in links]
            for name in [*names, *links]:
                copier.put(os.path.join(here, name), str(target / name))
    for source in copier.sources:
        for path, original in ((path, one) for path, one in originals.items() if source in path.parents):
            _original_back(copier, original, fresh / source.name / path.relative_to(source))
    return {
        "name": package.name,
        "from": str(package.folder),
        "version": package.version,
        "stamp": stamp(package.folder, originals),
        "unlike_record": unlike_record(package, originals),
        "how": "copied" if copier.why else "linked",
        "why": copier.why,
        "files": copier.files,
        "bytes": copier.bytes,
        "seconds": round(time.monotonic() - began, 2),
    }


def _original_back(copier: _Copier, original: Path | None, target: Path) -> None:
    files.remove(target)
    _forget_compiled(target)
    if original is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        copier.put(str(original), str(target))


class _Copier:
    """Puts files as hard links, until the file system cannot, or may not: from then on as copies, with the reason."""

    def __init__(self, fresh: Path, sources: list[Path]) -> None:
        self.fresh = fresh
        self.sources = sources
        self.why = ""
        self.files = 0
        self.bytes = 0

    def put(self, source: str, target: str) -> None:
        self.files += 1
        if os.path.islink(source):
            os.symlink(os.readlink(source), target)
        elif self.why or not self._linked(source, target):
            self.bytes += os.stat(source).st_size
            shutil.copy2(source, target)

    def _linked(self, source: str, target: str) -> bool:
        try:
            os.link(source, target, follow_symlinks=False)
        except OSError as error:
            if error.errno not in _LINKLESS:
                raise
            self.why = os.strerror(error.errno)
            room(self.fresh, _size(self.sources))
            return False
        return True


def _libraries(package: Package) -> list[Path]:
    """The shared libraries that a wheel keeps beside its package, found from there by relative paths."""
    return [one for one in package.folder.parent.glob("*.libs") if one.stem.replace("-", "_") == package.name]


def _size(folders: list[Path]) -> int:
    return sum(os.lstat(str(folder / path)).st_size for folder in folders for path in walk(folder))


def _change(patches: PatchSet, venv: Venv, fresh: Path) -> list[Written]:
    changes = list(written(patches, {name: fresh / name for name in venv.packages}))
    for one in changes:
        target = fresh / one.path
        if one.data is None:
            target.unlink()
        else:
            target.parent.mkdir(parents=True, exist_ok=True)
            files.write(target, one.data, one.mode)
        _forget_compiled(target)
    return changes


def _forget_compiled(target: Path) -> None:
    """A compiled file of the old text could pass for one of the new: Python compares times and sizes only."""
    for old in (target.parent / _CACHES).glob(f"{target.stem}.*.pyc"):
        old.unlink()


def _first(patches: PatchSet, fresh: Path) -> bool:
    """See that the shadow wins; whether that needed more than `PYTHONPATH`.

    A `.pth` file or an editable install may put itself first, ahead of `PYTHONPATH`.
    """
    if not strangers(patches, fresh):
        return False
    files.write(fresh / "sitecustomize.py", SITECUSTOMIZE)
    others = strangers(patches, fresh)
    if others:
        name, origin = next(iter(others.items()))
        raise Trouble("patch-misfit", f"{name} is imported from {origin}, whatever comes first in PYTHONPATH")
    return True


def strangers(patches: PatchSet, shadow: Path) -> dict[str, str | None]:
    """The patched packages that the interpreter finds elsewhere than in `shadow`, and where."""
    found = run(patches.python, _FIND, [json.dumps(list(patches.packages))], [str(shadow)])
    return {name: origin for name, origin in found.items() if not str(origin).startswith(f"{shadow}{os.sep}")}


def _put(release: Path, fresh: Path) -> None:
    shadow, old = release / NAME, release / f".{NAME}.old"
    if shadow.exists():
        os.replace(str(shadow), str(old))
    os.replace(str(fresh), str(shadow))
    files.sync(release)
    shutil.rmtree(str(old), ignore_errors=True)


def _clear(release: Path) -> None:
    """Clear away what an interrupted run left."""
    for name in (f".{NAME}.new", f".{NAME}.old"):
        shutil.rmtree(str(release / name), ignore_errors=True)


def content(path: Path) -> str | None:
    """What tells whether a file or link is another one; None if there is none."""
    return f"link {os.readlink(str(path))}" if path.is_symlink() else files.digest(path)


@contextlib.contextmanager
def _alone(release: Path) -> Iterator[None]:
    """Keep a second run out while the shadow of this release is worked on."""
    handle = os.open(str(release), os.O_RDONLY | os.O_DIRECTORY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Trouble(
                "locked", f"the patches of {release} are being worked on by another run", "wait for it"
            ) from None
        yield
    finally:
        os.close(handle)
