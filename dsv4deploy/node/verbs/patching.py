"""The patches of a release: what was laid, what the interpreter and the process show of it, and how to undo it."""

from __future__ import annotations

from pathlib import Path
from typing import Callable

from dsv4deploy.node import kernels
from dsv4deploy.node.checks import patches
from dsv4deploy.node.checks.every import asked_of
from dsv4deploy.node.checks.target import Target
from dsv4deploy.node.lock import held, let_go
from dsv4deploy.node.place import Place
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import CHECKED_LINES, Answer


def _asked(act: Callable[[Path, Answer], Answer]) -> Callable[[Place, Answer], Answer]:
    """Ask something about the patches of the current release, or of the one that is named."""

    def asked(place: Place, document: Answer) -> Answer:
        digest = place.full(str(document["digest"])) if document.get("digest") else place.current()
        if digest is None:
            raise Trouble("no-release", f"{place.name} has no release on this node", "apply it first")
        return {"changed": False, "digest": digest, **act(place.release(digest), place.manifest(digest))}

    return asked


def patches_verify(place: Place, document: Answer) -> Answer:
    """What the interpreter imports; if the release runs, also what its log and its own account show."""
    answer = _asked(kernels.verify)(place, document)
    service = current_service(place)
    running = service.running() if service else None
    if service is None or running is None or answer["digest"] != place.current():
        return answer
    manifest = place.manifest(answer["digest"])
    lines = service.log(CHECKED_LINES, running["invocation"])
    shown = patches.shown(Target(asked_of(manifest, {}, running["pid"], lines)))
    return {**answer, "running": shown, "fine": answer["fine"] and not any(one["active"] is False for one in shown)}


def patches_revert(place: Place, document: Answer) -> Answer:
    """Undo the patches of a stopped release."""
    with held(place, document):
        service = current_service(place)
        if service is not None and service.running() is not None:
            raise Trouble("wont-stop", f"{place.name} runs its patched code", "stop it first, or roll back")
        answer = _asked(kernels.revert)(place, document)
        let_go(place, document)
        return answer


patches_status = _asked(kernels.status)
