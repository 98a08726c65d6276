"""The steps of a trial but for the judgement: looked at, installed, switched, confirmed or undone."""

from __future__ import annotations

from dsv4deploy.node import preflight as looking
from dsv4deploy.node import release as releases
from dsv4deploy.node import switch as switching
from dsv4deploy.node.lock import held, let_go
from dsv4deploy.node.observe import deployment
from dsv4deploy.node.place import Place
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import Answer

_RESTORE_S = 600.0


def preview(place: Place, document: Answer) -> Answer:
    """Whether bringing the release of `digest` to run would change anything; nothing does change."""
    seen = deployment(place)
    fine = seen["current"] == document.get("digest") and seen["running"] and not seen["drift"] and not seen["pending"]
    if fine and "manifest" in document:
        fine = seen["manifest"]["profile"] == document["manifest"].get("profile")
    return {"changed": not fine, "current": seen["current"]}


def preflight(place: Place, document: Answer) -> Answer:
    """What stands in the way; what the model folder tells is for a plan, and long."""
    return {key: value for key, value in looking.preflight(place, document).items() if key != "model"}


def held_here(place: Place, document: Answer) -> Answer:
    """Digests of the files of the bundle in `manifest` that releases on this node have: they need not be sent."""
    wanted = {str(entry["sha256"]) for entry in document["manifest"]["files"]}
    return {"changed": False, "held": sorted(releases.held(place, wanted))}


def install(place: Place, document: Answer) -> Answer:
    with held(place, document):
        try:
            return releases.install(place, document)
        except (Trouble, OSError):
            let_go(place, document)  # nothing was begun that the next apply would have to wait for
            raise


def stage(place: Place, document: Answer) -> Answer:
    """Preflight, then install unless there are problems: one trip."""
    answer = preflight(place, document)
    if answer["problems"]:
        return answer
    return {**answer, **install(place, document)}


def switch(place: Place, document: Answer) -> Answer:
    with held(place, document):
        return _switched(place, document)


def rollback(place: Place, document: Answer) -> Answer:
    with held(place, document):
        pending = place.pending()
        if pending and not document.get("digest"):
            return switching.restore(place, "asked for")
        digest = switching.rollback_target(place, document.get("digest"))
        return _switched(place, {**document, "digest": digest})


def _switched(place: Place, document: Answer) -> Answer:
    answer = switching.switch(place, document)
    if not answer["changed"] and not answer["judging"]:
        let_go(place, document)  # nothing is judged, so that nobody would
    return answer


def restore(place: Place, document: Answer) -> Answer:
    # The watch may be restoring already, and that takes as long as the server takes to stop.
    with held(place, document, _RESTORE_S):
        answer = switching.restore(place, str(document.get("why") or "asked for"))
        if not answer["changed"] or not answer["to"]:
            let_go(place, document)
        return answer


def confirm(place: Place, document: Answer) -> Answer:
    with held(place, document):
        answer = switching.confirm(place, {"digest": place.current() or "", **document})
        let_go(place, document)
        return answer


def release(place: Place, document: Answer) -> Answer:
    let_go(place, document)
    return {"changed": False}
