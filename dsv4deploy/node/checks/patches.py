"""Whether the patched code is what runs: each patch says which line or field shows it."""

from __future__ import annotations

from typing import Any

from dsv4deploy.node import proof
from dsv4deploy.node.checks import server_info
from dsv4deploy.node.checks.target import Finding, Target


def check(target: Target) -> Finding:
    """Look at the log, and ask the server only if a patch is shown by its settings."""
    found = shown(target)
    if not found:
        return Finding("skipped", "this release has no patches")
    told = tuple(f"{one['patch']}: {one['told']}" for one in found)
    if any(one["active"] is False for one in found):
        return Finding("bad", next(line for one, line in zip(found, told) if one["active"] is False), told)
    if any(one["active"] is None for one in found):
        return Finding("unknown", next(line for one, line in zip(found, told) if one["active"] is None), told)
    return Finding("good", f"{len(found)} patches are active", told)


def shown(target: Target) -> list[Any]:
    """What the running server shows of each patch; see `proof.active`."""
    proofs = target.request.get("proofs") or []
    if any(one.get("server_info") for one in proofs) and not target.info:
        server_info.check(target)
    return proof.active(proofs, target.request.get("lines"), target.info or None)
