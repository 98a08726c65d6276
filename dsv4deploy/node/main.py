"""The door of the tool on the node: `python3 node.pyz VERB...`, one JSON document in, one JSON document out, always.

An answer has `schema`, `verb`, `ok` and, if not ok, `error: {word, message, remedy}`. Several verbs share one trip: each
is asked only if the one before leads on to it, the answer is the last one's, and `before` holds the others.
"""

from __future__ import annotations

import errno
import json
import signal
import sys
import time
import traceback
from importlib import import_module
from pathlib import Path

from dsv4deploy.node.place import Place, place_of
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import Answer

# In which module of `verbs` each is; a function is called what its verb is called.
VERBS = {
    **dict.fromkeys(("preview", "preflight", "held-here", "install", "stage", "switch"), "trial"),
    **dict.fromkeys(("rollback", "restore", "confirm", "release"), "trial"),
    "wait": "judging",
    **dict.fromkeys(("aside", "renew", "start", "stop", "restart", "prune", "history", "status", "logs"), "serving"),
    **dict.fromkeys(("check", "measure", "bundle", "probe"), "checking"),
    **dict.fromkeys(("patches-status", "patches-verify", "patches-revert"), "patching"),
}


def answers(verbs: list[str], document: Answer) -> Answer:
    """What the node says to verbs that share one request; `took_s` tells how long each took."""
    found: list[Answer] = []
    for verb in verbs:
        began = time.monotonic()
        found.append(answer(verb, document))
        found[-1]["took_s"] = round(time.monotonic() - began, 2)
        if not _leads_on(found[-1]):
            break
        document = {**document, "digest": found[-1].get("to") or document.get("digest")}
    changed = any(one["changed"] for one in found)
    return {**found[-1], "changed": changed, "before": found[:-1]} if len(verbs) > 1 else found[-1]


def _leads_on(one: Answer) -> bool:
    """Whether there is something to go on with: what is staged is switched, and what was started is judged."""
    if not one["ok"] or one.get("problems"):
        return False
    started = one["changed"] or one.get("judging") or one.get("already")
    return one["verb"] == "stage" or bool(one.get("to") and started)


def answer(verb: str, document: Answer) -> Answer:
    """What the node says to one request; a failure is an answer too."""
    try:
        found = _done(verb, document)
    except Trouble as trouble:
        return _failed(verb, document, trouble.word, trouble.message, trouble.remedy)
    except OSError as trouble:
        return _failed(verb, document, *_told(trouble))
    except Exception as bug:  # noqa: BLE001 (the answer is always a document; a bug is told in it)
        where = traceback.extract_tb(bug.__traceback__)[-1]
        told = f"{type(bug).__name__}: {bug} ({Path(where.filename).name}:{where.lineno})"
        return _failed(verb, document, "bug", told, "report it")
    return {"schema": "node/1", "verb": verb, "name": document.get("name"), "ok": True, **found}


def _done(verb: str, document: Answer) -> Answer:
    if verb == "observe":
        found: Answer = import_module("dsv4deploy.node.observe").observe(document)
    elif verb in VERBS:
        module = import_module(f"dsv4deploy.node.verbs.{VERBS[verb]}")
        found = getattr(module, verb.replace("-", "_"))(place_of(document), document)
    else:
        raise Trouble("usage", f"{verb!r} is no verb", f"one of observe, {', '.join(VERBS)}")
    return found


def main() -> int:
    """Answer; `keep`, `watch` and `settle` belong to the supervisors and speak no JSON."""
    words = sys.argv[1:]
    # A lost connection must not end a switch half way.
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    if words[:1] == ["keep"]:
        return int(import_module("dsv4deploy.node.process").keep(Place(Path(words[1])), words[2]))
    if words[:1] in (["watch"], ["settle"]):
        return int(getattr(import_module("dsv4deploy.node.watch"), words[0])(Place(Path(words[1]))))
    found = _asked(words)
    try:
        print(json.dumps(found, sort_keys=True), flush=True)
    except BrokenPipeError:
        return 1
    return 0 if found["ok"] else 1


def _asked(words: list[str]) -> Answer:
    if not words:
        return _failed("", {}, "usage", "a verb is expected", f"one of observe, {', '.join(VERBS)}")
    try:
        document = json.loads(sys.stdin.buffer.read() or b"{}")
    except ValueError:
        return _failed(words[0], {}, "broken-upload", "the request did not arrive whole", "try again")
    return answers(words, document if isinstance(document, dict) else {})


def _failed(verb: str, document: Answer, word: str, message: str, remedy: str = "") -> Answer:
    error = {"word": word, "message": message, "remedy": remedy}
    name = document.get("name")
    return {"schema": "node/1", "verb": verb, "name": name, "ok": False, "changed": False, "error": error}


def _told(trouble: OSError) -> tuple[str, str, str]:
    name = trouble.filename or "the disk"
    if trouble.errno == errno.ENOSPC:
        return "disk", f"no space left for {name}", "free some space"
    if trouble.errno == errno.EROFS:
        return "disk", f"{name} is on a read-only file system", "remount it, or use dsv4_root for another folder"
    if trouble.errno in (errno.EACCES, errno.EPERM):
        return "system", f"{name} cannot be written by this user", "use --become, or dsv4_root for another folder"
    return "system", f"{trouble.strerror}: {name}", ""
