"""Patches in the venv itself, for those who ask for it: a transaction with backups, and one owner's set at a time.

The backups are the original files, renamed back on revert, so that content, modes and times are what they were. A wheel
takes the place of a distribution with all its files, RECORD among them; nothing else touches that. A journal in the venv
says what is being done; whoever finds it unfinished undoes it.
"""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import shutil
from pathlib import Path
from typing import Any, Iterator

from dsv4deploy.node import distribution, files
from dsv4deploy.node.patchset import PatchSet, Written, extensions, written
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.venv import Venv

FOLDER = ".dsv4deploy"
_JOURNAL = "patches.json"
_LINKLESS = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.ENOSYS)


def apply(patches: PatchSet, owner: str) -> dict[str, Any]:
    """Bring the venv to exactly these patches; answers `changed`. The server that uses it must be stopped.

    Raises:
        Trouble: it is patched for somebody else with another set, the patches do not fit, or it cannot be written;
            the venv is then as it was.
    """
    prefix = prefix_of(patches.python)
    with _alone(prefix):
        recover(prefix)
        journal = read(prefix)
        if journal and journal["digest"] == patches.digest and not overwritten(journal):
            return {"changed": _own(prefix, journal, owner)}
        if journal:
            _refuse_shared(prefix, journal, patches, owner)
            _undo(prefix, journal)
        _transact(prefix, patches, owner)
        return {"changed": True}


def foresee(patches: PatchSet, owner: str, venv: Venv) -> None:
    """See that `apply` could work on what is in `venv`, before anything is stopped for it.

    Raises:
        Trouble: somebody else uses the venv otherwise, a wheel has no distribution to replace, or it cannot be written.
    """
    prefix = prefix_of(patches.python)
    _refuse_shared(prefix, read(prefix), patches, owner)
    roots = [distribution.installed(entry, venv, prefix).root for entry in distribution.wheels(patches)]
    for folder in (prefix, *roots, *(package.folder for package in venv.packages.values())):
        if not os.access(str(folder), os.W_OK):
            remedy = "apply as its owner, or leave `kernels.in_place` out: a copy needs no right to write there"
            raise Trouble("system", f"{folder} cannot be written, and patches go there", remedy)


def _refuse_shared(prefix: Path, journal: dict[str, Any] | None, patches: PatchSet, owner: str) -> None:
    others = [one for one in journal["owners"] if one != owner] if journal else []
    if journal and others and journal["digest"] != patches.digest:
        raise Trouble(
            "patch-shared",
            f"{prefix} is patched in place for {', '.join(others)} with another set of patches",
            "give each its own venv, or leave `kernels.in_place` out",
        )


def refuse_patched_for_others(prefix: Path, owner: str) -> None:
    """See that a venv is not patched in place for somebody else: whoever uses it as installed would run those patches.

    Raises:
        Trouble: it is.
    """
    others = [one for one in (read(prefix) or {}).get("owners", []) if one != owner]
    if others:
        told = f"{prefix} is patched in place for {', '.join(others)}, so that {owner} would run those patches too"
        raise Trouble("patch-shared", told, "give each its own venv, or leave `kernels.in_place` out")


def originals(prefix: Path) -> dict[Path, Path | None]:
    """Where the original of each file that is patched in place lies now; None for a file that a patch added."""
    entries = [one for one in (read(prefix) or {}).get("files", []) if not _same(one)]
    kept = {Path(one["path"]): prefix / FOLDER / one["backup"] if one["backup"] else None for one in entries}
    return {path: backup if backup is None or backup.exists() else path for path, backup in kept.items()}


def before_wheels(prefix: Path) -> dict[str, list[str | None]]:
    """Which version each package had that a wheel replaces now, by its name; none if it was not there."""
    journal = read(prefix) or {}
    return {one["package"]: one["before"] for one in journal.get("wheels", {}).values()}


def revert(prefix: Path, owner: str | None = None) -> dict[str, Any]:
    """Undo what was patched here; with an `owner`, only if nobody else uses the same set.

    Answers `changed`, and `left`: files that were changed since, by an upgrade or by hand, and stay as they are.
    """
    with _alone(prefix):
        recover(prefix)
        journal = read(prefix)
        if journal is None or (owner is not None and owner not in journal["owners"]):
            return {"changed": False, "left": []}
        rest = [one for one in journal["owners"] if owner is not None and one != owner]
        if rest:
            _write(prefix, {**journal, "owners": rest})
            return {"changed": False, "left": []}
        return {"changed": True, "left": _undo(prefix, journal)}


def read(prefix: Path) -> dict[str, Any] | None:
    """The journal of a venv; None if it is as it was installed."""
    return files.read_json(journal_of(prefix))


def recover(prefix: Path) -> bool:
    """Undo what an interrupted run left half done; whether there was something.

    Raises:
        Trouble: the journal cannot be read; without it nobody knows where the originals belong, so they stay.
    """
    journal = read(prefix)
    if journal and journal["state"] != "applied":
        _undo(prefix, journal)
        return True
    if journal is None and journal_of(prefix).exists():
        told = f"{journal_of(prefix)} cannot be read: it says where the originals beside it belong"
        raise Trouble("system", told, "restore it from a backup, or make the venv anew")
    if journal is None and (prefix / FOLDER).is_dir():
        shutil.rmtree(str(prefix / FOLDER))
    return False


def overwritten(journal: dict[str, Any]) -> list[str]:
    """Patched files that are no longer as the patch left them."""
    return [one["path"] for one in journal["files"] if files.digest(Path(one["path"])) != one["after"]]


def reinstalled(journal: dict[str, Any]) -> list[str]:
    """The patches whose wheel an installer has replaced since: their RECORD is gone, or that of another."""
    records = {(name, one["record"]) for name, one in journal.get("wheels", {}).items()}
    entries = [one for one in journal["files"] if (one["patch"], one["name"]) in records]
    return [one["patch"] for one in entries if files.digest(Path(one["path"])) != one["after"]]


def journal_of(prefix: Path) -> Path:
    return prefix / FOLDER / _JOURNAL


def prefix_of(python: str) -> Path:
    return Path(os.path.realpath(str(Path(python).parent.parent)))


def _own(prefix: Path, journal: dict[str, Any], owner: str) -> bool:
    if owner in journal["owners"]:
        return False
    _write(prefix, {**journal, "owners": [*journal["owners"], owner]})
    return False


def _transact(prefix: Path, patches: PatchSet, owner: str) -> None:
    venv = patches.venv()
    try:
        (prefix / FOLDER).mkdir(mode=0o755)
        journal = {**_prepared(prefix, patches, venv), "state": "applying", "owners": [owner]}
        _write(prefix, journal)
        for entry in journal["files"]:
            _put(prefix, entry)
        for one in journal["emptied"]:
            with contextlib.suppress(OSError):
                os.rmdir(one["path"])
        _write(prefix, {**journal, "state": "applied"})
    except BaseException:
        with contextlib.suppress(OSError):
            recover(prefix)
        raise


def _prepared(prefix: Path, patches: PatchSet, venv: Venv) -> dict[str, Any]:
    """Keep the originals and lay what is new beside them; the journal of what is to be done. No package is touched."""
    entries = [_kept(prefix, number, path, one) for number, (path, one) in enumerate(_changes(patches, venv, prefix))]
    wheels = distribution.replaced(patches, venv)
    return {
        "schema": "in-place/1",
        "digest": patches.digest,
        "versions": {
            **{name: package.version for name, package in venv.packages.items()},
            **{one["package"]: one["version"] for one in wheels.values()},
        },
        "files": entries,
        "wheels": wheels,
        "extensions": extensions(patches, venv, _brought(prefix, entries).__getitem__),
        "made": _missing_folders([Path(one["path"]) for one in entries]),
        "emptied": distribution.emptied(entries, wheels),
    }


def _changes(patches: PatchSet, venv: Venv, prefix: Path) -> Iterator[tuple[Path, Written]]:
    folders = {name: package.folder for name, package in venv.packages.items()}
    for one in written(patches, folders):
        name, _, rest = one.path.partition("/")
        yield folders[name] / rest, one
    yield from distribution.changes(patches, venv, prefix)


def _same(entry: dict[str, Any]) -> bool:
    """Whether a file is what it was: it is looked at, and never touched."""
    return bool(entry["before"] == entry["after"])


def _kept(prefix: Path, number: int, path: Path, change: Written) -> dict[str, Any]:
    """Keep the original of one file, and say in the journal what is to become of it."""
    same = change.before == change.after
    backup = f"{number:04}" if change.before and not same else None
    fresh = None if change.data is None or same else f"{number:04}.new"
    if backup:
        _copy(path, prefix / FOLDER / backup)
    if fresh and change.data is not None:
        # Written here first, so that what follows is a rename, which leaves nothing beside the package if interrupted.
        seen = next(one for one in (path, *path.parents) if one.exists()).stat()
        owner = (seen.st_uid, seen.st_gid) if os.geteuid() == 0 else None
        files.write(prefix / FOLDER / fresh, change.data, change.mode, owner)
    compiled = [] if same else [str(one) for one in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc")]
    return {
        "path": str(path),
        "name": change.path,
        "patch": change.patch,
        "before": change.before,
        "after": change.after,
        "backup": backup,
        "fresh": fresh,
        "compiled": {one: f"{number:04}-{index}.pyc" for index, one in enumerate(compiled)},
    }


def _brought(prefix: Path, entries: list[dict[str, Any]]) -> dict[str, Path]:
    """Where each file lies now that the patches bring, by its name."""
    return {one["name"]: prefix / FOLDER / one["fresh"] if one["fresh"] else Path(one["path"]) for one in entries}


def _copy(source: Path, target: Path) -> None:
    try:
        os.link(str(source), str(target))
    except OSError as error:
        if error.errno not in _LINKLESS:
            raise
        _double(source, target)


def _double(source: Path, target: Path) -> None:
    """Copy a file with its mode, times and owner."""
    shutil.copy2(str(source), str(target))
    seen = source.stat()
    if os.geteuid() == 0:
        os.chown(str(target), seen.st_uid, seen.st_gid)


def _move(source: Path, target: Path) -> None:
    """Rename; where the package lies on another file system than the venv, by way of a copy beside the target."""
    try:
        os.replace(str(source), str(target))
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        _double(source, _beside(target))
        os.replace(str(_beside(target)), str(target))
        source.unlink()


def _beside(path: Path) -> Path:
    return path.with_name(f".{path.name}.dsv4deploy")


def _put(prefix: Path, entry: dict[str, Any]) -> None:
    path = Path(entry["path"])
    if _same(entry):
        return
    for compiled, backup in entry["compiled"].items():
        _move(Path(compiled), prefix / FOLDER / backup)
    if entry["fresh"] is None:
        path.unlink()
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    _move(prefix / FOLDER / entry["fresh"], path)
    files.sync(path.parent)


def _undo(prefix: Path, journal: dict[str, Any]) -> list[str]:
    """Put every original back, unless the file was changed since by somebody else; those files.

    Of a wheel that an installer has replaced since nothing is put back: its files would mix with those of another.
    """
    left: list[str] = []
    if journal["state"] == "applied":
        journal, left = _without_reinstalled(journal)
    _write(prefix, {**journal, "state": "reverting"})
    for one in reversed(journal.get("emptied", [])):
        _folder_back(one)
    for entry in journal["files"]:
        left += _back(prefix, entry, begun=journal["state"] == "applying")
    for folder in journal["made"]:
        with contextlib.suppress(OSError):
            shutil.rmtree(f"{folder}/__pycache__", ignore_errors=True)
            os.rmdir(folder)
    shutil.rmtree(str(prefix / FOLDER))
    return left


def _back(prefix: Path, entry: dict[str, Any], *, begun: bool) -> list[str]:
    """Put one original back, which may not have been replaced yet if that had only `begun`; its path if it is left."""
    path = Path(entry["path"])
    # On a disk that cannot be written even the removal of nothing fails.
    if _beside(path).exists():
        files.remove(_beside(path))
    found = files.digest(path)
    if found not in (entry["before"], entry["after"]):
        return [str(path)]
    if _same(entry):
        return []
    backup = prefix / FOLDER / str(entry["backup"])
    if not entry["backup"]:
        files.remove(path)
    elif backup.exists() and not (begun and found == entry["before"]):
        _move(backup, path)
    _compiled_back(prefix, entry)
    return []


def _folder_back(folder: dict[str, Any]) -> None:
    path = Path(folder["path"])
    path.mkdir(exist_ok=True)
    seen = path.stat()
    if seen.st_mode & 0o7777 != folder["mode"]:
        path.chmod(folder["mode"])
    if os.geteuid() == 0 and [seen.st_uid, seen.st_gid] != folder["owner"]:
        os.chown(str(path), *folder["owner"])


def _without_reinstalled(journal: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """The journal without wheels that an installer has replaced since, and the RECORD of each."""
    others = reinstalled(journal)
    records = [journal["wheels"][name]["record"] for name in others]
    left = [one["path"] for one in journal["files"] if one["patch"] in others and one["name"] in records]
    kept = {key: [one for one in journal.get(key, []) if one["patch"] not in others] for key in ("files", "emptied")}
    return {**journal, **kept}, left


def _compiled_back(prefix: Path, entry: dict[str, Any]) -> None:
    path = Path(entry["path"])
    for one in (path.parent / "__pycache__").glob(f"{path.stem}.*.pyc"):
        if str(one) not in entry["compiled"] or (prefix / FOLDER / entry["compiled"][str(one)]).exists():
            one.unlink()
    for compiled, backup in entry["compiled"].items():
        if (prefix / FOLDER / backup).exists():
            _move(prefix / FOLDER / backup, Path(compiled))


def _missing_folders(paths: list[Path]) -> list[str]:
    """Folders that the patches have to make, the innermost first."""
    missing = {folder for path in paths for folder in path.parents if not folder.exists()}
    return sorted((str(one) for one in missing), key=len, reverse=True)


def _write(prefix: Path, journal: dict[str, Any]) -> None:
    files.write_json(journal_of(prefix), journal)


@contextlib.contextmanager
def _alone(prefix: Path) -> Iterator[None]:
    try:
        handle = os.open(str(prefix), os.O_RDONLY | os.O_DIRECTORY)
    except OSError as error:
        raise Trouble("system", f"{prefix}: {error.strerror}", "name the venv in engine.venv") from None
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Trouble("locked", f"{prefix} is being patched by another run", "wait for it") from None
        yield
    finally:
        os.close(handle)
