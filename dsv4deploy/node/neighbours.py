"""Our other deployments on a node: which of them take a card or a port of this one."""

from __future__ import annotations

from typing import Any

from dsv4deploy.node.place import Place, places
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.trouble import Trouble


def neighbours(place: Place, manifest: dict[str, Any], *, running: bool) -> list[dict[str, str]]:
    """Those that run, or those that do not: `other`, and what is told of it with its `remedy`."""
    found = []
    for other in places(place.folder.parent):
        theirs = _manifest_of(other, running=running) if other.name != place.name else None
        if theirs is None:
            continue
        for what, own, taken in (
            ("card", manifest.get("devices"), theirs.get("devices")),
            ("port", manifest["endpoint"].get("ports"), theirs["endpoint"].get("ports")),
        ):
            both = sorted(set(own or ()) & set(taken or ()))
            if both:
                state = "which runs here" if running else "which is deployed here and does not run now"
                told = f"{what} {both[0]} belongs to {other.name} too, {state}"
                remedy = f"dsv4deploy stop --name {other.name}, or choose others"
                found.append({"other": other.name, "told": told, "remedy": remedy})
    return found


def refuse(place: Place, manifest: dict[str, Any]) -> None:
    """See that nobody of ours who runs would lose its cards or ports.

    Raises:
        Trouble: somebody would.
    """
    for one in neighbours(place, manifest, running=True):
        raise Trouble("neighbours", one["told"], one["remedy"])


def _manifest_of(other: Place, *, running: bool) -> dict[str, Any] | None:
    """The manifest of another deployment, if it runs (or does not) and this user may know."""
    try:
        service = current_service(other)
        if service is None or (service.running() is not None) is not running:
            return None
        return other.manifest(str(other.current()))
    except Trouble:
        return None
