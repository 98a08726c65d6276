"""Releases on a node: unpacked beside the others, verified by digest, compared with what is on disk, cleared away."""

from __future__ import annotations

import base64
import grp
import hashlib
import io
import json
import os
import pwd
import re
import shutil
import sys
import tarfile
from pathlib import Path, PurePosixPath
from typing import Any

from dsv4deploy.node import files, shadow
from dsv4deploy.node.place import Place, account
from dsv4deploy.node.trouble import Trouble

_MARKER_LINES = 5
_MARKER = "dsv4deploy"
# The manifest holds what the environment file holds: neither is everybody's to read.
_OWN = {"path": "manifest.json", "mode": "0640"}
_HALF = re.compile(r"\.(new|old)-[0-9a-f]{64}")


def install(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Unpack the bundle in `archive` (base64 of a tar, with its `sha256`) as a release; nothing that runs is touched.

    What the archive leaves out is taken from the releases that are here. An installed release is verified, and repaired
    file by file.

    Raises:
        Trouble: the archive is not what was sent, lacks what is not here either, or does not fit on the disk.
    """
    contents = unpacked(document)
    manifest = _manifest(contents)
    contents.update(_found_here(place, manifest, contents))
    _verify(manifest, contents)
    digest = str(manifest["digest"])
    target = place.release(digest)
    place.releases.mkdir(parents=True, exist_ok=True)
    _room(place.releases, contents)
    if target.is_dir():
        changed = _repair(target, manifest, contents)
    else:
        _unpack(place, target, manifest, contents)
        changed = ["all"]
    laid = shadow.lay(target, manifest)
    keep_tool(place)
    repaired = [] if changed == ["all"] else changed
    if repaired:
        place.remember("repaired", to=digest, what=repaired)
    answer = {"changed": bool(changed) or laid["changed"], "digest": digest, "repaired": repaired}
    return {**answer, "shadow": laid["packages"]} if laid["packages"] else answer


def held(place: Place, wanted: set[str]) -> dict[str, Path]:
    """Files with the digests in `wanted`, by digest, in the releases of all deployments beside this one."""
    found: dict[str, Path] = {}
    for manifest in place.folder.parent.glob("*/releases/*/manifest.json"):
        for entry in (files.read_json(manifest) or {}).get("files", []):
            path, digest = manifest.parent / entry["path"], entry["sha256"]
            if digest in wanted and digest not in found and files.digest(path) == digest:
                found[digest] = path
    return found


def keep_tool(place: Place) -> None:
    """Leave this very tool beside the releases: the watch and the process supervisor run it."""
    own = Path(sys.argv[0]).read_bytes()
    if files.digest(place.tool) != hashlib.sha256(own).hexdigest():
        files.write(place.tool, own, 0o755)


def drift(place: Place, digest: str) -> list[dict[str, str]]:
    """Every file of the release that is not as its manifest says, inside and outside the release folder."""
    manifest = place.manifest(digest)
    found = []
    for entry in manifest["files"]:
        inside = place.release(digest) / entry["path"]
        found += _difference(inside, entry, manifest)
        if entry.get("dest"):
            found += _difference(Path(entry["dest"]), entry, manifest)
    return found


def broken(place: Place, digest: str) -> list[dict[str, str]]:
    """The drift inside the release folder alone."""
    manifest, folder = place.manifest(digest), place.release(digest)
    return [d for one in manifest["files"] for d in _difference(folder / one["path"], one, manifest)]


def foreign(manifest: dict[str, Any]) -> list[str]:
    """Destinations outside the release where somebody else's file stands (no line of ours at its top)."""
    return [str(dest) for dest in outside(manifest) if _strange(dest)]


def put_aside(place: Place, manifest: dict[str, Any]) -> None:
    """Keep a copy of everything of somebody else's that is about to be taken over."""
    for dest in map(Path, foreign(manifest)):
        place.taken_over.mkdir(exist_ok=True)
        files.write(place.taken_over / dest.name, dest.read_bytes(), dest.stat().st_mode & 0o7777)


def put_back(place: Place, manifest: dict[str, Any]) -> None:
    """Bring back what was taken over."""
    for dest in outside(manifest):
        kept = place.taken_over / dest.name
        if kept.exists() and not dest.exists():
            files.write(dest, kept.read_bytes(), kept.stat().st_mode & 0o7777)
            files.remove(kept)


def outside(manifest: dict[str, Any]) -> list[Path]:
    return [Path(entry["dest"]) for entry in manifest["files"] if entry.get("dest")]


def place_outside(place: Place, digest: str) -> list[str]:
    """Write the files that belong outside the release folder; the paths that changed."""
    changed = []
    manifest = place.manifest(digest)
    for entry in manifest["files"]:
        if entry.get("dest") and _difference(Path(entry["dest"]), entry, manifest):
            data = (place.release(digest) / entry["path"]).read_bytes()
            _write(Path(entry["dest"]), data, entry, manifest)
            changed.append(entry["dest"])
    return changed


def remove_outside(manifest: dict[str, Any], keep: list[Path]) -> list[str]:
    """Remove our files outside the release, except those in `keep`; the paths that are gone."""
    mine = [dest for dest in outside(manifest) if dest not in keep and not _strange(dest)]
    return [str(dest) for dest in mine if files.remove(dest)]


def prune(place: Place, keep: int) -> list[str]:
    """Remove all but the newest `keep` releases; never the current one, nor one that a trial may go back to."""
    pending = place.pending() or {}
    needed = {place.current(), pending.get("to"), pending.get("from"), last_confirmed(place)}
    gone = [one for one in place.installed()[max(keep, 1) :] if one not in needed]
    for digest in gone:
        trash = place.releases / f".old-{digest}"
        os.replace(str(place.release(digest)), str(trash))
    sweep(place)
    return gone


def sweep(place: Place) -> None:
    """Clear away what an interrupted run left half unpacked or half removed."""
    for left in place.releases.glob(".*-*"):
        if _HALF.fullmatch(left.name):
            shutil.rmtree(str(left), ignore_errors=True)


def last_confirmed(place: Place, but: str | None = None) -> str | None:
    """The release that was confirmed last and is still installed, other than `but`."""
    here = set(place.installed())
    for entry in reversed(place.history()):
        if entry.get("verb") == "confirmed" and entry.get("to") in here and entry.get("to") != but:
            return str(entry["to"])
    return None


def unpacked(document: dict[str, Any]) -> dict[str, bytes]:
    """The files of the bundle in `archive` (base64 of a tar, with its `sha256`), by path.

    Raises:
        Trouble: the archive is not what was sent.
    """
    try:
        data = base64.b64decode(document["archive"], validate=True)
    except (KeyError, TypeError, ValueError):
        raise Trouble("broken-upload", "the request holds no archive") from None
    if hashlib.sha256(data).hexdigest() != document.get("sha256"):
        raise Trouble("broken-upload", "the archive is not what was sent", "apply again")
    contents = {}
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        for member in archive:
            parts = PurePosixPath(member.name)
            source = archive.extractfile(member)
            if source is None or parts.is_absolute() or ".." in parts.parts:
                raise Trouble("broken-upload", f"the archive holds {member.name!r}, which is no plain file of a bundle")
            contents[member.name] = source.read()
    return contents


def _manifest(contents: dict[str, bytes]) -> dict[str, Any]:
    try:
        manifest: dict[str, Any] = json.loads(contents["manifest.json"])
        listed = {str(entry["path"]) for entry in manifest["files"]}
    except (KeyError, TypeError, ValueError):
        raise Trouble("broken-upload", "the archive holds no manifest that can be read") from None
    if not set(contents) <= {*listed, "manifest.json"}:
        raise Trouble("broken-upload", "the archive holds files that its manifest does not list")
    return manifest


def _found_here(place: Place, manifest: dict[str, Any], contents: dict[str, bytes]) -> dict[str, bytes]:
    """The files of a bundle that its archive leaves out, because a release on this node has them."""
    left_out = {entry["path"]: entry["sha256"] for entry in manifest["files"] if entry["path"] not in contents}
    here = held(place, set(left_out.values())) if left_out else {}
    return {path: here[digest].read_bytes() for path, digest in left_out.items() if digest in here}


def _verify(manifest: dict[str, Any], contents: dict[str, bytes]) -> None:
    for entry in manifest["files"]:
        path = entry["path"]
        if path not in contents:
            raise Trouble("broken-upload", f"{path} was not sent, and no release here has it any more", "apply again")
        if hashlib.sha256(contents[path]).hexdigest() != entry["sha256"]:
            raise Trouble("broken-upload", f"{path} does not have the digest that the manifest says", "render again")
        if entry.get("dest") and not _marked(contents[path]):
            raise Trouble("broken-upload", f"{path} goes to {entry['dest']} without saying that it is ours")


def _room(folder: Path, contents: dict[str, bytes]) -> None:
    needed = sum(len(data) + 4096 for data in contents.values()) + (1 << 20)
    disk = os.statvfs(str(folder))
    free = disk.f_bavail * disk.f_frsize
    if free < needed:
        raise Trouble(
            "disk", f"{folder} has {free >> 10} KiB free; the release needs {needed >> 10}", "free some space"
        )


def _unpack(place: Place, target: Path, manifest: dict[str, Any], contents: dict[str, bytes]) -> None:
    fresh = place.releases / f".new-{target.name}"
    shutil.rmtree(str(fresh), ignore_errors=True)
    fresh.mkdir(mode=0o755)
    for entry in [*manifest["files"], _OWN]:
        (fresh / entry["path"]).parent.mkdir(parents=True, exist_ok=True)
        _write(fresh / entry["path"], contents[entry["path"]], entry, manifest)
    files.sync(fresh)
    os.replace(str(fresh), str(target))
    files.sync(place.releases)


def _repair(target: Path, manifest: dict[str, Any], contents: dict[str, bytes]) -> list[str]:
    own = {**_OWN, "sha256": hashlib.sha256(contents["manifest.json"]).hexdigest()}
    bad = [entry for entry in [*manifest["files"], own] if _difference(target / entry["path"], entry, manifest)]
    for entry in bad:
        _write(target / entry["path"], contents[entry["path"]], entry, manifest)
    return [entry["path"] for entry in bad]


def _write(path: Path, data: bytes, entry: dict[str, Any], manifest: dict[str, Any]) -> None:
    files.write(path, data, int(entry["mode"], 8), _reader(manifest) if _is_private(entry) else None)


def _difference(path: Path, entry: dict[str, Any], manifest: dict[str, Any]) -> list[dict[str, str]]:
    found = files.digest(path)
    if found is None:
        what = "missing"
    elif found != entry["sha256"]:
        what = "edited"
    elif path.stat().st_mode & 0o7777 != int(entry["mode"], 8):
        what = f"mode {path.stat().st_mode & 0o7777:04o}"
    elif _is_private(entry) and _reader(manifest) not in (None, (path.stat().st_uid, path.stat().st_gid)):
        what = "owned by others"
    else:
        return []
    return [{"path": str(path), "what": what}]


def _strange(dest: Path) -> bool:
    try:
        with dest.open("rb") as source:
            return not _marked(source.read(4096))
    except FileNotFoundError:
        return False
    except OSError:
        return True


def _marked(data: bytes) -> bool:
    top = data.decode("utf-8", "replace").splitlines()[:_MARKER_LINES]
    return any(line.lstrip().startswith("#") and _MARKER in line for line in top)


def _reader(manifest: dict[str, Any]) -> tuple[int, int] | None:
    """Root, and the group by which the server reads what is not everybody's; None where all is one's own."""
    name = account(manifest)
    if os.geteuid() != 0 or not name:
        return None
    under_systemd = manifest["service"]["supervisor"] == "systemd"
    group = ((manifest.get("profile") or {}).get("service") or {}).get("group") if under_systemd else None
    try:
        return 0, grp.getgrnam(group).gr_gid if group else pwd.getpwnam(name).pw_gid
    except KeyError:
        return None  # preflight tells it


def _is_private(entry: dict[str, Any]) -> bool:
    return not int(entry["mode"], 8) & 0o007
