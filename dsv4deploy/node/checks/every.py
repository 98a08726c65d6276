"""Runs the checks one after the other; what generates is left out once the server is too busy to answer."""

from __future__ import annotations

import os
import time
from typing import Any, Callable

from dsv4deploy.node import procs
from dsv4deploy.node.checks import capacity, endpoints, gpus, log_lines, metrics, patches, server_info, smoke
from dsv4deploy.node.checks.target import Finding, Target
from dsv4deploy.node.scrub import scrubbed_tree

# The gentlest first. `asks` those that need an answer of the server.
CHECKS: dict[str, tuple[Callable[[Target], Finding], bool]] = {
    "log": (log_lines.check, False),
    "gpus": (gpus.check, False),
    "endpoints": (endpoints.check, True),
    "server-info": (server_info.check, True),
    "patches": (patches.check, False),
    "metrics": (metrics.check, True),
    "smoke": (smoke.check, True),
    "capacity": (capacity.check, True),
}


def run(request: dict[str, Any]) -> dict[str, Any]:
    """All checks of the server that `request` describes (see `Target`): `{state, checks, settings, texts, cards}`."""
    target = Target(request)
    wanted = request.get("only") or list(CHECKS)
    done = [(name, _one(name, target)) for name in CHECKS if name in wanted]
    states = {finding.state for _, finding in done}
    state = next((state for state in ("bad", "unknown") if state in states), "good")
    settings = {name: value for name, value in target.info.items() if not isinstance(value, dict)}
    settings.pop("internal_states", None)
    return {
        "state": state,
        "checks": [{"check": name, **finding._asdict()} for name, finding in done],
        "settings": scrubbed_tree(settings),
        "texts": target.texts,
        "cards": target.cards,
    }


def asked_of(manifest: dict[str, Any], document: dict[str, Any], pid: int, lines: list[str]) -> dict[str, Any]:
    """What to ask of a deployed server, by its manifest; `document` may name `only` some checks, and `capacity`."""
    profile = manifest.get("profile") or {}
    health = {**(profile.get("health") or {}), **({"capacity": True} if document.get("capacity") else {})}
    return {
        "host": manifest["endpoint"]["host"],
        "port": manifest["endpoint"]["port"],
        "model": (manifest.get("model") or {}).get("served_name"),
        "api_key_file": (manifest.get("secrets") or {}).get("api_key"),
        "health": health,
        "argv": manifest.get("argv") or [],
        "devices": manifest.get("devices") or [],
        "rehearsal": manifest["engine"].get("rehearsal"),
        "pids": sorted(one.pid for one in procs.family(pid)),
        "started": _started(pid),
        "lines": lines,
        "proofs": manifest.get("proofs") or [],
        "only": document.get("only"),
    }


def _started(pid: int) -> float:
    """The Unix time at which the process was started; 0 if it is gone."""
    process = procs.process(pid)
    if process is None:
        return 0.0
    return time.time() - procs.uptime() + process.start / os.sysconf("SC_CLK_TCK")


# What a failed check is called. Cards, log lines and thresholds speak of the place or the wish, not of what was started.
CLASSES = {"smoke": "wrong-output", "server-info": "setting-not-in-effect", "capacity": "capacity-failed"}


def failure(checks: list[dict[str, Any]]) -> dict[str, Any] | None:
    """The first failed check that speaks of what was started, in the words of a judged start; None if there is none."""
    for one in checks:
        if one["state"] == "bad" and one["check"] in CLASSES:
            told = {"state": "failed", "class": CLASSES[one["check"]], "stage": "serve", "root": one["told"]}
            return {**told, "why": one["told"], "lines": list(one["details"])}
    return None


def _one(name: str, target: Target) -> Finding:
    check, asks = CHECKS[name]
    if asks and target.busy:
        return Finding("skipped", "the server is too busy to answer; nothing more is asked of it")
    try:
        return check(target)
    except OSError as trouble:
        return Finding("unknown", str(trouble))
