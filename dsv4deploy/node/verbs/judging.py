"""The judgement of a start, for a while; a ready one is confirmed in the same trip."""

from __future__ import annotations

from dsv4deploy.node import switch
from dsv4deploy.node.lock import held, let_go
from dsv4deploy.node.place import Place
from dsv4deploy.node.supervisor import Service, service_of
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import CHECKED_LINES, Answer
from dsv4deploy.node.wait import wait as judged


def wait(place: Place, document: Answer) -> Answer:
    """Judge the running start for a while; with `confirm`, a ready one is confirmed in the same trip."""
    with held(place, document):
        digest = place.current()
    if digest is None:
        raise Trouble("no-release", f"{place.name} has no release on this node")
    if document.get("digest") not in (None, digest):
        return {"changed": False, "digest": digest, "state": "failed", "class": None, "why": switch.LATE, "lines": []}
    manifest = place.manifest(digest)
    service = service_of(place, manifest)
    found = judged(place, service, manifest, float(document.get("limit_s") or 10))
    if found["state"] == "ready" and document.get("confirm"):
        found.update(_gated(service, manifest) or {})
    answer: Answer = {"changed": False, "digest": digest, **found}
    if found["state"] == "stopped-by-us" and document.get("confirm"):
        answer.update({"state": "failed", "class": None, "root": switch.LATE, "late": True})
    if found["state"] == "ready" and document.get("confirm"):
        with held(place, document):
            told = {**document, "digest": document.get("digest") or digest, "invocation": found["invocation"]}
            answer.update(switch.confirm(place, told))
            let_go(place, document)
    elif answer["state"] != "progressing" and document.get("last"):
        let_go(place, document)
    return answer


def _gated(service: Service, manifest: Answer) -> Answer | None:
    """How a start fails that is ready and does not hold what the profile's `health.gate` asks; None if it does."""
    running = service.running()
    if running is None or not ((manifest.get("profile") or {}).get("health") or {}).get("gate"):
        return None
    from dsv4deploy.node.checks import every  # noqa: PLC0415 (compiled only where there is a gate)

    lines = service.log(CHECKED_LINES, running.get("invocation"))
    return every.failure(every.run(every.asked_of(manifest, {}, running["pid"], lines))["checks"])
