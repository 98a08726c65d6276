"""The door of the tool on the node: `python3 node.pyz VERB`, one JSON document in, one JSON document out, always.

An answer has `schema`, `verb`, `ok` and, if not ok, `error: {word, message, remedy}`.
"""

from __future__ import annotations

import errno
import json
import signal
import sys
import time
import traceback
from pathlib import Path
from typing import Any, Callable, Dict

from dsv4deploy.node import kernels, release, support, switch
from dsv4deploy.node.checks import every, patches, throughput
from dsv4deploy.node.checks.every import asked_of
from dsv4deploy.node.checks.target import Target
from dsv4deploy.node.lock import held, let_go
from dsv4deploy.node.observe import deployment, observe
from dsv4deploy.node.place import Place, place_of
from dsv4deploy.node.preflight import preflight
from dsv4deploy.node.probe import probe
from dsv4deploy.node.process import keep
from dsv4deploy.node.procs import boot_id
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.wait import wait

Answer = Dict[str, Any]
_POLL_S = 1.0
_RESTORE_S = 600.0
_CHECKED_LINES = 20000
_TOLD = ("name", "digest", "engine", "model", "argv", "profile")


def _preview(place: Place, document: Answer) -> Answer:
    """Whether bringing the release of `digest` to run would change anything; nothing does change."""
    seen = deployment(place)
    fine = seen["current"] == document.get("digest") and seen["running"] and not seen["drift"] and not seen["pending"]
    return {"changed": not fine, "current": seen["current"]}


def _look(place: Place, document: Answer) -> Answer:
    return preflight(place, document)


def _install(place: Place, document: Answer) -> Answer:
    with held(place, document):
        try:
            return release.install(place, document)
        except (Trouble, OSError):
            let_go(place, document)  # nothing was begun that the next apply would have to wait for
            raise


def _stage(place: Place, document: Answer) -> Answer:
    """Preflight, then install unless there are problems: one trip."""
    answer = preflight(place, document)
    if answer["problems"]:
        return answer
    return {**answer, **_install(place, document)}


def _switch(place: Place, document: Answer) -> Answer:
    with held(place, document):
        answer = switch.switch(place, document)
        if not answer["changed"] and not answer["judging"]:
            let_go(place, document)
        return answer


def _rollback(place: Place, document: Answer) -> Answer:
    with held(place, document):
        pending = place.pending()
        if pending and not document.get("digest"):
            return switch.restore(place, "asked for")
        digest = switch.rollback_target(place, document.get("digest"))
        return switch.switch(place, {**document, "digest": digest})


def _restore(place: Place, document: Answer) -> Answer:
    # The watch may be restoring already, and that takes as long as the server takes to stop.
    with held(place, document, _RESTORE_S):
        answer = switch.restore(place, str(document.get("why") or "asked for"))
        if not answer["changed"] or not answer["to"]:
            let_go(place, document)
        return answer


def _wait(place: Place, document: Answer) -> Answer:
    """Judge the running start for a while; with `confirm`, a ready one is confirmed in the same trip."""
    with held(place, document):
        digest = place.current()
    if digest is None:
        raise Trouble("no-release", f"{place.name} has no release on this node")
    if document.get("digest") not in (None, digest):
        return {"changed": False, "digest": digest, "state": "failed", "class": None, "why": switch.LATE, "lines": []}
    manifest = place.manifest(digest)
    service = switch.service_of(place, manifest)
    found = wait(place, service, manifest, float(document.get("limit_s") or 10))
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


def _gated(service: switch.Service, manifest: Answer) -> Answer | None:
    """How a start fails that is ready and does not hold what the profile's `health.gate` asks; None if it does."""
    running = service.running()
    if running is None or not ((manifest.get("profile") or {}).get("health") or {}).get("gate"):
        return None
    lines = service.log(_CHECKED_LINES, running.get("invocation"))
    return every.failure(every.run(asked_of(manifest, {}, running["pid"], lines))["checks"])


def _confirm(place: Place, document: Answer) -> Answer:
    with held(place, document):
        answer = switch.confirm(place, {"digest": place.current() or "", **document})
        let_go(place, document)
        return answer


def _release(place: Place, document: Answer) -> Answer:
    let_go(place, document)
    return {"changed": False}


def _simply(act: Callable[[Place, Answer], Answer]) -> Callable[[Place, Answer], Answer]:
    def acted(place: Place, document: Answer) -> Answer:
        with held(place, document):
            answer = act(place, document)
            let_go(place, document)
            return answer

    return acted


def _prune(place: Place, document: Answer) -> Answer:
    gone = release.prune(place, int(document.get("keep") or 1))
    return {"changed": bool(gone), "removed": gone}


def _history(place: Place, document: Answer) -> Answer:
    return {"changed": False, "current": place.current(), "releases": place.installed(), "history": place.history()}


def _status(place: Place, document: Answer) -> Answer:
    return {"changed": False, **deployment(place)}


def _logs(place: Place, document: Answer) -> Answer:
    service = switch.current_service(place)
    return {"changed": False, "lines": service.log(int(document.get("lines") or 100)) if service else []}


def _support(place: Place, document: Answer) -> Answer:
    return {"changed": False, **support.bundle(place, int(document.get("lines") or 300))}


def _check(place: Place, document: Answer) -> Answer:
    """Ask the running server whether it is healthy; nothing is changed, and nothing waits for a lock."""
    service, digest = switch.current_service(place), place.current()
    running = service.running() if service else None
    if service is None or digest is None or running is None:
        raise Trouble("no-release", f"{place.name} does not run here", "start it first")
    manifest = place.manifest(digest)
    request = asked_of(manifest, document, running["pid"], service.log(_CHECKED_LINES, running.get("invocation")))
    told = {key: manifest.get(key) for key in _TOLD}
    return {"changed": False, "checkup": {"digest": digest, "manifest": told, **every.run(request)}}


def _measure(place: Place, document: Answer) -> Answer:
    """Tokens a second of the running server; nothing is changed, and nothing waits for a lock."""
    service, digest = switch.current_service(place), place.current()
    running = service.running() if service else None
    if digest is None or running is None:
        raise Trouble("no-release", f"{place.name} does not run here", "start it first")
    target = Target(asked_of(place.manifest(digest), {}, running["pid"], []))
    return {"changed": False, "measured": throughput.measured(target, float(document.get("below") or 0))}


def _patches(act: Callable[[Path, Answer], Answer]) -> Callable[[Place, Answer], Answer]:
    """Ask something about the patches of the current release, or of the one that is named."""

    def asked(place: Place, document: Answer) -> Answer:
        digest = place.full(str(document["digest"])) if document.get("digest") else place.current()
        if digest is None:
            raise Trouble("no-release", f"{place.name} has no release on this node", "apply it first")
        return {"changed": False, "digest": digest, **act(place.release(digest), place.manifest(digest))}

    return asked


def _verify_patches(place: Place, document: Answer) -> Answer:
    """What the interpreter imports; if the release runs, also what its log and its own account show."""
    answer = _patches(kernels.verify)(place, document)
    service = switch.current_service(place)
    running = service.running() if service else None
    if service is None or running is None or answer["digest"] != place.current():
        return answer
    manifest = place.manifest(answer["digest"])
    lines = service.log(_CHECKED_LINES, running["invocation"])
    shown = patches.shown(Target(asked_of(manifest, {}, running["pid"], lines)))
    return {**answer, "running": shown, "fine": answer["fine"] and not any(one["active"] is False for one in shown)}


def _probe(place: Place, document: Answer) -> Answer:
    return probe(document)


def _revert_patches(place: Place, document: Answer) -> Answer:
    """Undo the patches of a stopped release."""
    with held(place, document):
        service = switch.current_service(place)
        if service is not None and service.running() is not None:
            raise Trouble("wont-stop", f"{place.name} runs its patched code", "stop it first, or roll back")
        answer = _patches(kernels.revert)(place, document)
        let_go(place, document)
        return answer


VERBS: dict[str, Callable[[Place, Answer], Answer]] = {
    "preview": _preview,
    "preflight": _look,
    "install": _install,
    "stage": _stage,
    "switch": _switch,
    "rollback": _rollback,
    "restore": _restore,
    "wait": _wait,
    "confirm": _confirm,
    "release": _release,
    "start": _simply(switch.start),
    "stop": _simply(switch.stop),
    "restart": _simply(switch.restart),
    "prune": _simply(_prune),
    "history": _history,
    "status": _status,
    "logs": _logs,
    "check": _check,
    "measure": _measure,
    "bundle": _support,
    "probe": _probe,
    "patches-status": _patches(kernels.status),
    "patches-verify": _verify_patches,
    "patches-revert": _revert_patches,
}


def answer(verb: str, document: Answer) -> Answer:
    """What the node says to one request; a failure is an answer too."""
    try:
        if verb not in VERBS and verb != "observe":
            return _failed(verb, "usage", f"{verb!r} is no verb", f"one of observe, {', '.join(VERBS)}")
        found = observe(document) if verb == "observe" else VERBS[verb](place_of(document), document)
    except Trouble as trouble:
        return _failed(verb, trouble.word, trouble.message, trouble.remedy)
    except OSError as trouble:
        return _failed(verb, *_told(trouble))
    except Exception as bug:  # noqa: BLE001 (the answer is always a document; a bug is told in it)
        where = traceback.extract_tb(bug.__traceback__)[-1]
        return _failed(
            verb, "bug", f"{type(bug).__name__}: {bug} ({Path(where.filename).name}:{where.lineno})", "report it"
        )
    return {"schema": "node/1", "verb": verb, "name": document.get("name"), "ok": True, **found}


def main() -> int:
    """Run one verb; `keep`, `watch` and `settle` belong to the supervisors and speak no JSON."""
    words = sys.argv[1:]
    # A lost connection must not end a switch half way.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if words[:1] == ["keep"]:
        return keep(Place(Path(words[1])), words[2])
    if words[:1] == ["watch"]:
        return _watch(Place(Path(words[1])))
    if words[:1] == ["settle"]:
        return _settle(Place(Path(words[1])))
    found = _asked(words)
    try:
        print(json.dumps(found, sort_keys=True), flush=True)
    except BrokenPipeError:
        return 1
    return 0 if found["ok"] else 1


def _asked(words: list[str]) -> Answer:
    if len(words) != 1:
        return _failed("", "usage", "one verb is expected", f"one of observe, {', '.join(VERBS)}")
    try:
        document = json.loads(sys.stdin.buffer.read() or b"{}")
    except ValueError:
        return _failed(words[0], "broken-upload", "the request did not arrive whole", "try again")
    return answer(words[0], document if isinstance(document, dict) else {})


def _settle(place: Place) -> int:
    """End a trial from before the boot; one of now is left alone, because the run that began it holds the lock."""
    pending = place.pending()
    if pending and pending["boot_id"] != boot_id():
        with held(place, {}):
            switch.settle(place, block=False)
    return 0


def _watch(place: Place) -> int:
    """Wait until the trial is over; end it if it is overdue or nobody is there any more to end it."""
    while place.unconfirmed.exists():
        why = switch.abandoned(place)
        if why:
            with held(place, {}):
                if switch.abandoned(place):
                    switch.restore(place, why)
            return 0
        time.sleep(_POLL_S)
    return 0


def _failed(verb: str, word: str, message: str, remedy: str = "") -> Answer:
    error = {"word": word, "message": message, "remedy": remedy}
    return {"schema": "node/1", "verb": verb, "ok": False, "changed": False, "error": error}


def _told(trouble: OSError) -> tuple[str, str, str]:
    name = trouble.filename or "the disk"
    if trouble.errno == errno.ENOSPC:
        return "disk", f"no space left for {name}", "free some space"
    if trouble.errno == errno.EROFS:
        return "disk", f"{name} is on a read-only file system", "remount it, or use dsv4_root for another folder"
    if trouble.errno in (errno.EACCES, errno.EPERM):
        return "system", f"{name} cannot be written by this user", "use --become, or dsv4_root for another folder"
    return "system", f"{trouble.strerror}: {name}", ""
