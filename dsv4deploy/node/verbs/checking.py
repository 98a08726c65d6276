"""A closer look at a running server: its health, what a report of a bug needs, a hazard tried on its cards."""

from __future__ import annotations

from dsv4deploy.node import probe as probing
from dsv4deploy.node import support
from dsv4deploy.node.checks import every, throughput
from dsv4deploy.node.checks.target import Target
from dsv4deploy.node.place import Place
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import CHECKED_LINES, Answer

_TOLD = ("name", "digest", "engine", "model", "argv", "profile")


def check(place: Place, document: Answer) -> Answer:
    """Ask the running server whether it is healthy; nothing is changed, and nothing waits for a lock."""
    service, digest = current_service(place), place.current()
    running = service.running() if service else None
    if service is None or digest is None or running is None:
        raise Trouble("no-release", f"{place.name} does not run here", "start it first")
    manifest = place.manifest(digest)
    request = every.asked_of(manifest, document, running["pid"], service.log(CHECKED_LINES, running.get("invocation")))
    told = {key: manifest.get(key) for key in _TOLD}
    return {"changed": False, "checkup": {"digest": digest, "manifest": told, **every.run(request)}}


def measure(place: Place, document: Answer) -> Answer:
    """Tokens a second of the running server; nothing is changed, and nothing waits for a lock."""
    service, digest = current_service(place), place.current()
    running = service.running() if service else None
    if digest is None or running is None:
        raise Trouble("no-release", f"{place.name} does not run here", "start it first")
    target = Target(every.asked_of(place.manifest(digest), {}, running["pid"], []))
    return {"changed": False, "measured": throughput.measured(target, float(document.get("below") or 0))}


def bundle(place: Place, document: Answer) -> Answer:
    return {"changed": False, **support.bundle(place, int(document.get("lines") or 300))}


def probe(place: Place, document: Answer) -> Answer:
    return probing.probe(document)
