"""The patches that a manifest lists: what they fit, and what each does to a folder that holds its package."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path, PurePosixPath
from typing import Any, Callable, Collection, Iterator, Mapping, NamedTuple

from dsv4deploy.node import diff, files, wheel
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.venv import Package, Venv, ask
from dsv4deploy.node.versions import fits

Manifest = Any
_ARCH = re.compile(r"sm_(\d+)(\d)([a-z]?)$")
_ABI = re.compile(r"\.(cpython-[^./]+)\.so$")


class Written(NamedTuple):
    """One file that a patch leaves behind: its path from the package's name on, by whom, and what was there before."""

    path: str
    patch: str
    before: str | None
    after: str | None
    data: bytes | None
    mode: int


class PatchSet(NamedTuple):
    """The patches of one release, and the folder of the release that holds their files."""

    release: Path
    entries: list[dict[str, Any]]
    python: str
    arch: str | None

    @property
    def digest(self) -> str:
        """SHA-256 in hex over the digests of the patches, in order."""
        return hashlib.sha256(json.dumps([one["digest"] for one in self.entries]).encode()).hexdigest()

    @property
    def packages(self) -> dict[str, str]:
        """Import name to distribution."""
        return {one["package"]: one["distribution"] for one in self.entries}

    def part(self, entry: dict[str, Any], name: str) -> bytes:
        """The bytes of one file of a patch.

        Raises:
            Trouble: it is not what the manifest says.
        """
        path = self.release / "patches" / entry["name"] / name
        wanted = next(one["sha256"] for one in entry["parts"] if one["name"] == name)
        try:
            data: bytes = path.read_bytes()
        except OSError as error:
            raise Trouble("broken-upload", f"{path}: {error.strerror}", "apply again") from None
        if hashlib.sha256(data).hexdigest() != wanted:
            raise Trouble("broken-upload", f"{path} does not have the digest that the manifest says", "apply again")
        return data

    def venv(self, before: Mapping[str, list[str | None]] | None = None) -> Venv:
        """Where the interpreter finds what is patched; refuses what the patches were not made for.

        `before` says which version those packages had that a wheel replaces in place now; none if it was not there.
        """
        others = sorted({name for one in self.entries for name in one["requires"]})
        brought = {one["package"] for one in self.entries if one["kind"] == "wheel"}
        venv = ask(self.python, self.packages, others, may_lack=brought)
        venv = venv._replace(packages=_as_before(venv.packages, before or {}, brought))
        told = [f"patch {entry['name']}: {one}" for entry in self.entries for one in _misfits(self, entry, venv)]
        if told:
            raise Trouble("patch-misfit", "; ".join(told), "see `fits` in its patch.yaml")
        return venv


def _as_before(
    now: Mapping[str, Package], before: Mapping[str, list[str | None]], brought: Collection[str]
) -> dict[str, Package]:
    found = {}
    for name, package in now.items():
        if name not in before:
            found[name] = package
        elif before[name]:
            # RECORD is that of the wheel in place.
            found[name] = package._replace(version=before[name][0], record={})
        elif name not in brought:
            told = f"{name} is there only as long as a wheel in place brings it"
            raise Trouble("patch-misfit", told, "list that wheel too")
    return found


def patchset(manifest: Manifest, release: Path) -> PatchSet | None:
    """The patches of a release; None if it has none, or runs in a container, where they are mounted."""
    entries, python = manifest.get("patches") or [], manifest["engine"].get("python")
    if not entries or not python:
        return None
    return PatchSet(release, entries, python, (manifest.get("patching") or {}).get("arch"))


def written(patches: PatchSet, folders: dict[str, Path]) -> Iterator[Written]:
    """What each patch writes, in order, judged against the packages in `folders`; nothing is touched.

    Raises:
        Trouble: a file is not as the patch expects it, or lies behind a symbolic link.
    """
    for entry in patches.entries:
        if entry["kind"] == "wheel":
            continue
        root = folders[entry["package"]]
        expected(entry, root)
        for path, data in _results(patches, entry, root):
            old = file_at(entry, root, path)
            before = files.digest(old)
            if before is None:
                free(entry, root, old)
            mode = old.stat().st_mode & 0o7777 if before else 0o644
            after = None if data is None else hashlib.sha256(data).hexdigest()
            yield Written(f"{entry['package']}/{path}", entry["name"], before, after, data, mode)


def free(entry: dict[str, Any], root: Path, path: Path) -> None:
    """See that a new file can stand at `path` below `root`.

    Raises:
        Trouble: something else is there.
    """
    folders = [one for one in path.parents if root in one.parents]
    taken = [one for one in folders if one.exists() and not one.is_dir()] + [path] * os.path.lexists(str(path))
    if taken:
        what = "is no folder" if taken[0] != path else "is a folder" if path.is_dir() else "cannot be read"
        raise Trouble("patch-misfit", f"patch {entry['name']}: {taken[0]} {what}", "correct the path in its patch.yaml")


def _results(patches: PatchSet, entry: dict[str, Any], root: Path) -> Iterator[tuple[str, bytes | None]]:
    for part in entry["parts"]:
        data = patches.part(entry, part["name"])
        if entry["kind"] != "diff":
            yield part["target"], data
            continue
        try:
            for change, path in diff.touched(diff.parse(data), entry["package"]):
                old = file_at(entry, root, path)
                yield path, diff.apply(change, old.read_bytes() if old.is_file() else None, int(entry["fuzz"]))
        except diff.DiffError as error:
            where = f"{part['name']}:{error.line}: " if error.line else f"{part['name']}: "
            raise Trouble(
                "patch-misfit", f"patch {entry['name']}: {where}{error}", "make the diff against this very version"
            ) from None


def expected(entry: dict[str, Any], root: Path) -> None:
    """See that the files that a patch was made for are in `root` as it wants them.

    Raises:
        Trouble: one is not.
    """
    for path, wanted in sorted(entry["before"].items()):
        found = files.digest(file_at(entry, root, path))
        if found != wanted:
            what = (
                "is not there" if found is None else f"has SHA-256 {found[:12]}, the patch was made for {wanted[:12]}"
            )
            raise Trouble("patch-misfit", f"patch {entry['name']}: {root / path} {what}", "see `fits.files`")


def file_at(entry: dict[str, Any], root: Path, path: str) -> Path:
    """`path` below `root`, if no symbolic link on the way can lead elsewhere.

    Raises:
        Trouble: one could, or the path itself does.
    """
    parts = PurePosixPath(path).parts
    if not parts or PurePosixPath(path).is_absolute() or ".." in parts:
        raise Trouble("patch-misfit", f"patch {entry['name']}: {path} leads out of the package")
    here = root
    for part in parts:
        here = here / part
        if here.is_symlink():
            raise Trouble("patch-misfit", f"patch {entry['name']}: {here} is a symbolic link", "patch what it links to")
    return here


def _misfits(patches: PatchSet, entry: dict[str, Any], venv: Venv) -> Iterator[str]:
    package = venv.packages.get(entry["package"])
    version = package.version if package else None
    wanted = [(entry["distribution"], version, entry["versions"]), ("Python", venv.version, entry["python"])]
    wanted += [(name, venv.versions[name], spec) for name, spec in entry["requires"].items()]
    for name, version, spec in wanted:
        if spec and entry["kind"] != "wheel" and version is None:
            yield f"needs {name} {spec}, and the venv has none"
        elif spec and version is not None and not fits(version, spec):
            yield f"needs {name} {spec}, the venv has {version}"
    if entry["arch"] and patches.arch and patches.arch not in entry["arch"]:
        yield f"its kernels are for {', '.join(entry['arch'])}, the cards are {patches.arch}"
    if entry["kind"] == "wheel":
        name = entry["parts"][0]["name"]
        told = wheel.misfit(wheel.tags(name), venv)
        if told:
            yield f"{name} does not fit: {told}"


def extensions(patches: PatchSet, venv: Venv, brought: Callable[[str], Path]) -> dict[str, list[str] | str]:
    """The compiled extensions that the patches bring, each with the cards that its code is for, as far as known.

    `brought` says where a file lies that their wheels brought, by its path beside the packages.

    Raises:
        Trouble: one is for another Python, or none of its code runs on the cards.
    """
    found: dict[str, list[str] | str] = {}
    for name, path, there in _compiled(patches, brought):
        tag = _ABI.search(path)
        if tag and tag[1] != venv.soabi:
            raise Trouble("patch-misfit", f"patch {name}: {path} is for {tag[1]}, the venv is {venv.soabi}")
        known = archs(there)
        if known and patches.arch and not runs_on(known, patches.arch):
            cards = f"its code is for {', '.join(known)}, the cards are {patches.arch}"
            raise Trouble("patch-misfit", f"patch {name}: {path}: {cards}")
        found[path] = "unknown: cuobjdump is not on this node" if known is None else known
    return found


def _compiled(patches: PatchSet, brought: Callable[[str], Path]) -> Iterator[tuple[str, str, Path]]:
    """The patch, the path from the package's name on, and the file of each extension."""
    for entry in patches.entries:
        if entry["kind"] == "wheel":
            held = wheel.contents(patches.part(entry, entry["parts"][0]["name"]))
            places = {path: brought(path) for path in held if path.endswith(".so")}
        else:
            folder = patches.release / "patches" / entry["name"]
            whole = [part for part in entry["parts"] if part["target"]]
            places = {f"{entry['package']}/{part['target']}": folder / part["name"] for part in whole}
        yield from ((entry["name"], path, there) for path, there in places.items() if path.endswith(".so"))


def archs(path: Path) -> list[str] | None:
    """The compute capabilities in a compiled extension, `ptx_` for what is compiled when loaded; None if unknown."""
    program = shutil.which("cuobjdump") or shutil.which("cuobjdump", path="/usr/local/cuda/bin")
    if program is None:
        return None
    found = set()
    for option, kind in (("--list-elf", ""), ("--list-ptx", "ptx_")):
        done = subprocess.run([program, option, str(path)], capture_output=True, check=False, timeout=120)
        found |= {kind + one for one in re.findall(r"\bsm_\d+[a-z]?", done.stdout.decode("utf-8", "replace"))}
    return sorted(found)


def runs_on(compiled: list[str], arch: str) -> bool:
    """Whether code for `compiled` runs on a card of `arch`: its own major version and no newer, or PTX of an older.

    Code for `sm_120a` runs on that card alone, code for `sm_120f` on those of its family.
    """
    card = _ARCH.match(arch)
    if card is None:
        return False
    major, minor = int(card[1]), int(card[2])
    for one in compiled:
        found = _ARCH.match(one[4:] if one.startswith("ptx_") else one)
        if found is None:
            continue
        own = int(found[1]), int(found[2])
        if one.startswith("ptx_") and not found[3] and own <= (major, minor):
            return True
        if own[0] == major and (own[1] == minor or (found[3] != "a" and own[1] <= minor)):
            return True
    return False


def unlike_record(package: Package, originals: Mapping[Path, Path | None]) -> list[str]:
    """Files of an installed package that are not as its wheel brought them; none is known of an editable install.

    `originals` says where those lie that are patched in place.
    """
    found = []
    for path, wanted in package.record.items():
        there = package.folder.parent / path
        if files.digest(originals.get(there) or there) != wanted:
            found.append(path)
    return sorted(found)


def room(folder: Path, needed: int) -> None:
    """See that `folder` has room for `needed` bytes.

    Raises:
        Trouble: it has not.
    """
    disk = os.statvfs(str(folder))
    free = disk.f_bavail * disk.f_frsize
    if free < needed:
        raise Trouble("disk", f"{folder} has {free >> 20} MiB free, {needed >> 20} MiB are needed", "free some space")
