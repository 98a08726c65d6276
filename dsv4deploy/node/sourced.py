"""The environment file that a release sources as it is: what it held when we started the server, and whether it still does."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dsv4deploy.node import files
from dsv4deploy.node.place import Place


def noted(manifest: dict[str, Any]) -> dict[str, str]:
    """What the history says of the file at a start: `env_file`, its digest; nothing if there is none to read."""
    path = _path(manifest)
    digest = files.digest(path) if path else None
    return {"env_file": digest} if digest else {}


def drift(place: Place, manifest: dict[str, Any]) -> list[dict[str, str]]:
    """Whether the file is another than the one with which this release was started last, as a path and what it is."""
    path, before = _path(manifest), _last(place, manifest)
    if path is None or before is None or files.digest(path) == before:
        return []
    return [{"path": str(path), "what": "edited" if path.exists() else "missing"}]


def _path(manifest: dict[str, Any]) -> Path | None:
    named = (manifest.get("env_file") or {}).get("path")
    return Path(named) if named else None


def _last(place: Place, manifest: dict[str, Any]) -> str | None:
    for entry in reversed(place.history()):
        if entry.get("to") == manifest["digest"] and "env_file" in entry:
            return str(entry["env_file"])
    return None
