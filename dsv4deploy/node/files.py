"""Files that are either the old ones or the new ones, whenever the power goes."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

TAIL_BYTES = 4 << 20  # more of a log is never looked at


def digest(path: Path) -> str | None:
    """The sha256 of a regular file in hex; None if there is none that can be read."""
    total = hashlib.sha256()
    try:
        with path.open("rb") as source:
            for block in iter(lambda: source.read(1 << 20), b""):
                total.update(block)
    except OSError:
        return None
    return total.hexdigest()


def sync(folder: Path) -> None:
    """Make the names in `folder` last."""
    handle = os.open(str(folder), os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def write(path: Path, data: bytes, mode: int = 0o644, owner: tuple[int, int] | None = None) -> None:
    """Put `data` at `path` in one step: a reader sees the whole old file or the whole new one."""
    handle, name = tempfile.mkstemp(prefix=f".{path.name}.", dir=str(path.parent))
    try:
        with os.fdopen(handle, "wb") as target:
            target.write(data)
            target.flush()
            os.fchmod(target.fileno(), mode)
            if owner is not None:
                os.fchown(target.fileno(), *owner)
            os.fsync(target.fileno())
        os.replace(name, str(path))
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    sync(path.parent)


def write_json(path: Path, document: object, mode: int = 0o644) -> None:
    write(path, (json.dumps(document, sort_keys=True, indent=1) + "\n").encode(), mode)


def read_json(path: Path) -> dict[str, Any] | None:
    """The JSON object at `path`; None if it is absent or no object."""
    try:
        document = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None
    return document if isinstance(document, dict) else None


def link(path: Path, target: str) -> bool:
    """Point the symbolic link `path` at `target` in one step; whether anything changed."""
    if path.is_symlink() and os.readlink(str(path)) == target:
        return False
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    with contextlib.suppress(FileNotFoundError):
        fresh.unlink()
    fresh.symlink_to(target)
    os.replace(str(fresh), str(path))
    sync(path.parent)
    return True


def remove(path: Path) -> bool:
    """Remove a file or link; whether there was one."""
    try:
        path.unlink()
    except FileNotFoundError:
        return False
    sync(path.parent)
    return True


def tail(path: Path, lines: int, skip: int = 0) -> list[str]:
    """The last lines of a log, without its first `skip` bytes unless it was rotated since; none if there is no log."""
    try:
        with path.open("rb") as source:
            size = source.seek(0, os.SEEK_END)
            source.seek(max(skip if skip <= size else 0, size - TAIL_BYTES))
            found = source.read().decode("utf-8", "replace")
    except OSError:
        return []
    return found.splitlines()[-lines:]


def text(path: str | Path) -> str:
    """The text of a small file such as those below `/proc`; empty if it cannot be read."""
    try:
        with open(path, "rb", buffering=0) as source:
            return source.read().decode("utf-8", "replace")
    except OSError:
        return ""
