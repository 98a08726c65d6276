"""What is on a node: its facts, and each deployment as it is on disk and as it runs."""

from __future__ import annotations

import os
import platform
from pathlib import Path
from typing import Any

from dsv4deploy.node import facts, kernels, procs, release, sourced, wait
from dsv4deploy.node.checks import metrics
from dsv4deploy.node.checks.target import OK, Target
from dsv4deploy.node.files import read_json, text
from dsv4deploy.node.lock import lease
from dsv4deploy.node.place import Place, places, root_of
from dsv4deploy.node.preflight import paths_of, preflight
from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.story import Story
from dsv4deploy.node.supervisor import service_of

_STARTS = 3
_SHOWN = ("name", "digest", "engine", "endpoint", "files", "service", "devices", "argv", "environment", "profile")
_TEXT_BYTES = 1 << 16
_HISTORY = 20
_LOG_LINES = 5000
_METRICS_S = 5


def observe(document: dict[str, Any]) -> dict[str, Any]:
    """Everything a plan needs, in one answer: facts, `deployments` by name, and what stands against `manifests`.

    `manifests` are those of the bundles that are wanted here; `"facts": false` leaves the facts out.
    """
    root, manifests = root_of(document.get("root")), {one["name"]: one for one in document.get("manifests") or []}
    names = {place.name: place for place in places(root)}
    answer: dict[str, Any] = {
        "changed": False,
        "root": str(root),
        "user": os.geteuid(),
        "python": platform.python_version(),
        "boot_id": procs.boot_id(),
        "disk_free_mib": _free_mib(root),
        "deployments": {
            name: deployment(place, manifests[name]["digest"] if name in manifests else None)
            for name, place in names.items()
        },
        "wanted": {name: _wanted(Place(root / name), manifest, document) for name, manifest in manifests.items()},
    }
    if document.get("facts", True):
        answer["facts"] = facts.facts()
    return answer


def _wanted(place: Place, manifest: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    python = manifest["engine"].get("python")
    paths = [path for path in paths_of(manifest) if not os.path.exists(path)]
    # A unit has limits of its own; those of this session say nothing about its server.
    limits = dict.fromkeys(("nofile", "memlock")) if manifest["service"]["supervisor"] == "systemd" else {}
    found = preflight(place, {**document, "manifest": manifest})
    return {
        "engine": {**(facts.packages(python) if python else {}), **limits, "paths_missing": paths},
        "problems": found["problems"],
        "warnings": found["warnings"],
        "notes": found["notes"],
        "model": found["model"],
        "patches": found["patches"],
    }


def deployment(place: Place, wanted: str | None = None) -> dict[str, Any]:
    """One deployment: releases, trial, lock, drift, process and unit; the files' texts too if `wanted` is not current."""
    current = place.current()
    history = place.history()
    answer: dict[str, Any] = {
        "current": current,
        "releases": place.installed(),
        "pending": place.pending(),
        "lock": lease(place),
        "aside": read_json(place.aside),
        "confirmed": release.last_confirmed(place),
        "earlier": release.last_confirmed(place, but=current),
        "start_seconds": [e["seconds"] for e in history if e.get("verb") == "confirmed" and "seconds" in e][-_STARTS:],
        "history": history[-_HISTORY:],
        "drift": [],
        "running": None,
        "unit": None,
        "http": None,
    }
    if current is None or not (place.release(current) / "manifest.json").exists():
        return answer
    manifest = place.manifest(current)
    answer["manifest"] = {key: manifest.get(key) for key in _SHOWN}
    if wanted is not None and wanted != current:
        answer["texts"] = _texts(place, manifest)
    patches = kernels.status(place.release(current), manifest)
    edited = sourced.drift(place, manifest)
    answer["drift"] = release.drift(place, current) + kernels.drift(patches) + edited
    try:
        service = service_of(place, manifest)
    except Exception as trouble:  # noqa: BLE001 (what may not be seen without root must not hide the rest)
        answer["unit"] = {"active": "unknown", "why": str(trouble)}
        return answer
    answer["unit"] = service.state()
    answer["running"] = running = process(manifest, service.running())
    if running and (
        edited
        or not kernels.runs(place.release(current), manifest, patches, running["pid"], procs.started(running["start"]))
    ):
        running["as_written"] = False
    answer["http"] = wait.health(manifest["endpoint"]) if answer["running"] else None
    if answer["running"]:
        serves = answer["http"] == OK
        answer["stage"] = "serve" if serves else stage_of(service.log(_LOG_LINES, answer["running"]["invocation"]))
        answer["load"] = load_of(manifest) if serves and wanted is None else {}
    return answer


def stage_of(lines: list[str]) -> str:
    """How far the start has come that wrote these lines."""
    story = Story(Catalogue({"signatures": []}))
    story.feed("\n".join(lines))
    story.close()
    return str(story.stage)


def load_of(manifest: dict[str, Any]) -> dict[str, float]:
    """What the server says of its load, if it has metrics: `tok_s`, `running`, `queue`, `kv_use`."""
    target = Target({**manifest["endpoint"], "timeout_s": _METRICS_S})
    answer = target.ask("/metrics")
    return metrics.shown(metrics.parsed(answer.body)) if answer.status == OK else {}


def _texts(place: Place, manifest: dict[str, Any]) -> dict[str, str]:
    """The files of the current release that everybody may read and nobody would call large."""
    found = {}
    for entry in manifest["files"]:
        path = place.release(manifest["digest"]) / entry["path"]
        if int(entry["mode"], 8) & 0o004 and path.exists() and path.stat().st_size <= _TEXT_BYTES:
            found[entry["path"]] = text(path)
    return found


def process(manifest: dict[str, Any], running: dict[str, Any] | None) -> dict[str, Any] | None:
    """The running process, and whether it is what the manifest says; `as_written` is None where that cannot be told."""
    if running is None:
        return None
    words = procs.cmdline(running["pid"])
    variables = procs.environ(running["pid"])
    return {
        **running,
        "cmdline": words,
        "environ_digest": procs.environ_digest(running["pid"]),
        "as_written": _as_written(manifest, words, variables),
    }


def _as_written(manifest: dict[str, Any], words: list[str], variables: dict[str, str] | None) -> bool | None:
    wanted = [str(word) for word in manifest.get("argv") or []]
    if not wanted or not any(word.startswith("--") for word in words):
        return None  # a process may rename itself
    if words[-len(wanted) :] != wanted:
        return False
    if variables is None:
        return None
    return all(variables.get(name) == str(value) for name, value in (manifest.get("environment") or {}).items())


def _free_mib(path: Path) -> int:
    where = path
    while not where.exists():
        where = where.parent
    disk = os.statvfs(str(where))
    return int(disk.f_bavail * disk.f_frsize >> 20)
