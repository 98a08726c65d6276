"""Writes a bundle to a folder, whole or not at all, and reads one back."""

import json
import os
import shutil
import tempfile
from collections.abc import Mapping
from pathlib import Path

from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.trouble import Trouble

MANIFEST = "manifest.json"


def write(bundle: Bundle, folder: Path) -> None:
    """Make `folder` hold exactly `bundle`; what stands there is replaced only if it is a bundle too.

    Raises:
        Trouble: the folder holds something else, or cannot be written.
    """
    if folder.exists() and (not folder.is_dir() or (any(folder.iterdir()) and not (folder / MANIFEST).is_file())):
        raise Trouble(f"{folder} exists and is no bundle of ours", "name another folder with -o")
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
        try:
            _fill(bundle, fresh)
            _swap(fresh, folder)
        finally:
            shutil.rmtree(fresh, ignore_errors=True)
    except OSError as error:
        raise Trouble(f"{folder} cannot be written: {error.strerror}", "name another folder with -o") from None


def read(folder: Path) -> Mapping[str, bytes]:
    """The files of the bundle in `folder` by name; none if it is empty.

    Raises:
        Trouble: there is no such folder, it cannot be read, or its manifest is none of ours.
    """
    try:
        return {path: (folder / path).read_bytes() for path in _listed(folder)}
    except OSError as error:
        raise Trouble(f"{folder} cannot be read: {error.strerror}", "name the folder of a bundle") from None
    except (ValueError, KeyError, TypeError):
        raise Trouble(f"{folder / MANIFEST} is no manifest of ours", "name the folder of a bundle") from None


def _listed(folder: Path) -> list[str]:
    """The files of the bundle, by its manifest: a shadow package that was laid beside them is none of it."""
    manifest = folder / MANIFEST
    if not manifest.is_file() and any(folder.iterdir()):
        raise Trouble(f"{folder} is no bundle of ours", "name a folder that render wrote")
    listed = [entry["path"] for entry in json.loads(manifest.read_bytes())["files"]] if manifest.is_file() else []
    names = {path.name for path in folder.iterdir() if path.is_file()} | set(listed)
    return sorted(name for name in names if (folder / name).is_file())


def _fill(bundle: Bundle, folder: Path) -> None:
    for artifact in bundle.files:
        path = folder / artifact.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.text)
        path.chmod(int(artifact.mode, 8))
    folder.chmod(0o755)  # not before each file has its mode


def _swap(fresh: Path, folder: Path) -> None:
    old = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        if folder.exists():
            os.replace(folder, old)  # noqa: PTH105 (replaces an empty folder; Path.rename says nothing of that)
        os.replace(fresh, folder)  # noqa: PTH105 (likewise)
    finally:
        shutil.rmtree(old, ignore_errors=True)
