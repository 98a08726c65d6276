"""Whether the server's metrics are within the bounds of the profile, and the few that `status` shows."""

from __future__ import annotations

import re
from typing import Any

from dsv4deploy.node.checks.target import NOT_FOUND, OK, Finding, Target, unanswered

_LINE = re.compile(r"^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{[^}]*\})?\s+([^\s]+)")
_PREFIX = "sglang:"
# What a person asks of a running server, under every name that it had.
SHOWN = {
    "tok_s": ("gen_throughput",),
    "running": ("num_running_reqs",),
    "queue": ("num_queue_reqs",),
    "kv_use": ("token_usage", "full_token_usage"),
}


def check(target: Target) -> Finding:
    """Ask and judge."""
    bounds = target.health.get("metrics") or {}
    if not bounds:
        return Finding("skipped", "the profile names no metrics (health.metrics)")
    answer = target.ask("/metrics")
    if answer.status is None:
        return unanswered(answer, "/metrics")
    if answer.status == NOT_FOUND:
        return Finding("bad", "there is no /metrics: set server.metrics: true")
    if answer.status != OK:
        return Finding("bad", f"/metrics answered {answer.status}")
    return judge(parsed(answer.body), bounds)


def judge(values: dict[str, float], bounds: dict[str, Any]) -> Finding:
    """Bad if a metric is missing or out of its bounds."""
    wrong, fine = [], []
    for name, bound in bounds.items():
        value = values.get(name.replace(_PREFIX, "", 1) if name.startswith(_PREFIX) else name)
        above, below = bound.get("above"), bound.get("below")
        if value is None:
            wrong.append(f"there is no metric {name}")
        elif above is not None and value < above:
            wrong.append(f"{name} is {value:g}, at least {above:g} is wanted")
        elif below is not None and value > below:
            wrong.append(f"{name} is {value:g}, at most {below:g} is wanted")
        else:
            fine.append(f"{name} is {value:g}")
    if wrong:
        return Finding("bad", wrong[0], tuple(wrong + fine))
    return Finding("good", f"{len(fine)} metrics are within their bounds", tuple(fine))


def parsed(text: str) -> dict[str, float]:
    """The largest series of each metric in the text format of Prometheus, by its name without `sglang:`."""
    found: dict[str, float] = {}
    for line in text.splitlines():
        match = _LINE.match(line)
        if match is None:
            continue
        try:
            value = float(match[2])
        except ValueError:
            continue
        name = match[1][len(_PREFIX) :] if match[1].startswith(_PREFIX) else match[1]
        found[name] = max(value, found.get(name, value))
    return found


def shown(values: dict[str, float]) -> dict[str, float]:
    """What `status` tells: tokens a second, requests that run and wait, share of the KV pool in use."""
    told = ((key, next((values[name] for name in names if name in values), None)) for key, names in SHOWN.items())
    return {key: value for key, value in told if value is not None}
