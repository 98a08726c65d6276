"""Collects what a helper asks for first: what runs, on what, how it was started, and what it said last; no secrets."""

from __future__ import annotations

import subprocess
from typing import Any

from dsv4deploy.node import facts, procs, release
from dsv4deploy.node.files import text
from dsv4deploy.node.place import Place
from dsv4deploy.node.scrub import scrubbed, scrubbed_tree, secrets_of
from dsv4deploy.node.supervisor import service_of
from dsv4deploy.node.trouble import Trouble

_WIDEST = 4000
_STEP_S = 30
_SHOWN = (
    "name",
    "digest",
    "tool",
    "engine",
    "endpoint",
    "service",
    "devices",
    "model",
    "argv",
    "environment",
    "patches",
)


def bundle(place: Place, lines: int) -> dict[str, Any]:
    """Everything about the current release: `profile`, `manifest`, `process`, `versions`, `machine`, `log`, `history`.

    Raises:
        Trouble: nothing is deployed.
    """
    digest = place.current()
    if digest is None:
        raise Trouble("no-release", f"{place.name} has no release on this node", "apply it first")
    manifest = place.manifest(digest)
    service = service_of(place, manifest)
    running = service.running()
    pid = running["pid"] if running else 0
    environment = procs.environ(pid) if pid else None
    known = secrets_of(
        [*(manifest.get("argv") or []), *procs.cmdline(pid)],
        {**(manifest.get("environment") or {}), **(environment or {})},
    )
    known += [one for one in (text(path).strip() for path in (manifest.get("secrets") or {}).values()) if one]
    told = {
        "profile": manifest.get("profile") or {},
        "manifest": {key: manifest.get(key) for key in _SHOWN},
        "drift": release.drift(place, digest),
        "unit": service.state(),
        "process": {"pid": pid, "cmdline": procs.cmdline(pid), "environment": _ours(environment or {}, manifest)},
        "versions": facts.packages(manifest["engine"].get("python") or ""),
        "machine": facts.facts(),
        "topology": _said("nvidia-smi", "topo", "-m"),
        "cards": _said("nvidia-smi"),
        "history": place.history()[-20:],
        "log": [line[:_WIDEST] for line in service.log(lines, (running or {}).get("invocation"))],
    }
    scrubbed_told: dict[str, Any] = scrubbed_tree(told, known)
    return {"digest": digest, "told": scrubbed_told}


def _ours(environment: dict[str, str], manifest: dict[str, Any]) -> dict[str, str]:
    """The variables that the release sets, and those that engines and their libraries read."""
    named = set(manifest.get("environment") or {})
    prefixes = ("SGL", "NCCL", "CUDA", "TORCH", "PYTORCH", "TRITON", "FLASHINFER", "NVSHMEM", "UCX", "GLOO", "OMP")
    return {name: value for name, value in sorted(environment.items()) if name in named or name.startswith(prefixes)}


def _said(*words: str) -> str | None:
    try:
        done = subprocess.run(words, capture_output=True, text=True, timeout=_STEP_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return scrubbed(done.stdout)
