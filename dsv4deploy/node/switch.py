"""From one release to another and back: at every instant the node serves, or will serve again, the old or the new one.

A trial begins with the file `unconfirmed` and ends when it is removed; whoever finds it overdue, or left by an
earlier boot, goes back to the release that it names. Every step can be done twice.
"""

from __future__ import annotations

import os
import time
from typing import Any

from dsv4deploy.node import files, gpus, kernels, neighbours, procs, release, sourced
from dsv4deploy.node.place import Place
from dsv4deploy.node.supervisor import Service, current_service, service_of
from dsv4deploy.node.systemd import Systemd
from dsv4deploy.node.trouble import Trouble

_MARGIN_S = 120.0
_KEEP = 5
# Units, links, notes: going back must work on a disk that the release on trial has filled.
_SPARE_BYTES = 256 << 10
LATE = "not ready within the time that service.timeouts.start_s gives it, so that the node went back by itself"


def switch(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Make the installed release `digest` the current one and start it on trial; the caller holds the lock.

    Answers `changed`, `judging`, `from`, `to`, and `started` where it may be that nothing was. Nothing happens if it runs already as it should, unless `restart` is
    asked for. `expect` is the release that the caller believes to be current.

    Raises:
        Trouble: the node moved meanwhile, a file is not ours, the old process does not go, a port is taken, or another
            deployment of ours runs on its cards.
    """
    digest = str(document["digest"])
    settle(place)
    manifest, current, pending = place.manifest(digest), place.current(), place.pending()
    _unmoved(place, document, current, pending)
    _refuse_foreign(manifest, document)
    _refuse_broken(place, digest)
    if pending and pending["to"] == digest and _on_trial(place, manifest, pending):
        return {"changed": False, "judging": True, "from": pending["from"], "to": digest}
    if not pending and current == digest and _confirmed(place, digest):
        return _again(place, manifest, restart=bool(document.get("restart")))
    neighbours.refuse(place, manifest)
    for port, pid in strangers(place, manifest).items():
        raise Trouble("port-taken", f"port {port} is taken by {told(pid)}", "stop it, or choose another server.port")
    return _trial(place, manifest, document)


def strangers(place: Place, manifest: dict[str, Any]) -> dict[int, int | None]:
    """The ports of the release that somebody else listens on, with the pid where it may be read."""
    service = current_service(place)
    running = service.running() if service else None
    own = {one.pid for one in procs.family(running["pid"])} if running else set()
    kept = place.manifest(str(place.current()))["endpoint"].get("ports", []) if running else []
    held = procs.holders([int(port) for port in manifest["endpoint"].get("ports", [])], own)
    # Who may not look into the process cannot see whose port it is; that it was ours is all there is to go by.
    return {port: pid for port, pid in sorted(held.items()) if pid not in own and not (pid is None and port in kept)}


def told(pid: int | None) -> str:
    return f"pid {pid} ({' '.join(procs.cmdline(pid))[:80]})" if pid else "a process of another user"


def _again(place: Place, manifest: dict[str, Any], *, restart: bool) -> dict[str, Any]:
    service = service_of(place, manifest)
    changed = _outfit(place, manifest, service, judged=False)
    held: dict[str, str] = {}
    if restart or service.running() is None:
        held = sourced.noted(manifest)
        _cold_start(place, manifest, service)
        changed.append("started")
    if changed:
        place.remember("repaired", to=manifest["digest"], what=changed, **held)
    digest = manifest["digest"]
    return {"changed": bool(changed), "judging": False, "started": "started" in changed, "from": digest, "to": digest}


def _trial(place: Place, manifest: dict[str, Any], document: dict[str, Any]) -> dict[str, Any]:
    digest, pending, current = manifest["digest"], place.pending(), place.current()
    before = pending["from"] if pending else current
    holder = document.get("holder") or {}
    expected = float(manifest["service"].get("start_timeout_s") or 1800)
    window = float(document.get("window_s") or expected + _MARGIN_S)
    service = service_of(place, manifest)
    trial = {
        "to": digest,
        "from": before if before != digest else release.last_confirmed(place, but=digest),
        "who": holder.get("who"),
        "token": holder.get("token"),
        "since": procs.now(),
        "began": procs.uptime(),
        "boot_id": procs.boot_id(),
        "deadline": procs.uptime() + window,
        "theirs_ran": current is None and service.running() is not None,
    }
    release.put_aside(place, manifest)
    files.write(place.spare, os.urandom(_SPARE_BYTES))  # zeros take no room on a disk that compresses
    files.write_json(place.unconfirmed, trial)
    files.remove(place.aside)
    try:
        service.watch()
        place.remember("switch", to=digest, **{"from": current}, who=holder.get("who"), **sourced.noted(manifest))
        old = place.manifest(current) if current else manifest  # a unit of this name that is taken over stops too
        service_of(place, old).stop(old)
        files.link(place.link, f"releases/{digest}")
        kernels.settle(place.release(digest), manifest, old if current else None)
        _outfit(place, manifest, service, judged=True, old=current)
        _free(manifest)
        service.start(manifest)
        # Only now is the process that runs known to be the one on trial.
        started = (service.running() or {}).get("invocation")
        files.write_json(place.unconfirmed, {**trial, "invocation": started})
    except (Trouble, OSError) as trouble:
        restore(place, str(trouble))
        raise
    return {"changed": True, "judging": True, "from": current, "to": digest}


def confirm(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """End the trial well: the release stays, the unit restarts on failure from now on.

    Raises:
        Trouble: that release is not on trial, or the process that was judged is not the one that runs.
    """
    digest, pending = str(document["digest"]), place.pending()
    if pending is None and place.current() == digest:
        return {"changed": False}
    if pending is None or pending["to"] != digest:
        raise Trouble("moved", f"release {digest[:12]} of {place.name} is not on trial", "apply again")
    manifest = place.manifest(digest)
    service = service_of(place, manifest)
    running = service.running()
    if running is None or document.get("invocation") not in (None, running["invocation"]):
        raise Trouble("moved", f"the process of {place.name} that was judged is not the one that runs", "apply again")
    seconds = round(procs.uptime() - float(pending["began"]), 1)
    files.remove(place.spare)
    place.remember("confirmed", to=digest, **{"from": pending["from"]}, seconds=seconds, who=pending["who"])
    files.remove(place.unconfirmed)
    service.prepare(judged=False)
    service.unwatch()
    release.prune(place, int(document.get("keep") or _KEEP))
    return {"changed": True, "seconds": seconds}


def restore(place: Place, why: str, *, block: bool = True) -> dict[str, Any]:
    """End the trial badly: stop what is on trial, and start the release that was confirmed before it."""
    pending = place.pending()
    if pending is None:
        last = next(iter(place.history()[-1:]), {})
        return {"changed": False, "to": place.current(), "already": last.get("verb") == "restored"}
    tried, before = place.current(), pending["from"]
    untouched = before is not None and tried == before and service_of(place, place.manifest(before)).running()
    held: dict[str, str] = {}
    if not untouched and tried:
        service_of(place, place.manifest(tried)).stop(place.manifest(tried), block=block)
    files.remove(place.spare)
    if untouched:
        service_of(place, place.manifest(str(before))).prepare(judged=False)
    elif before:
        manifest = place.manifest(before)
        service = service_of(place, manifest)
        files.link(place.link, f"releases/{before}")
        kernels.settle(place.release(before), manifest, place.manifest(tried) if tried else None)
        _outfit(place, manifest, service, judged=False, old=tried)
        if block:
            _free(manifest)
        held = sourced.noted(manifest)
        service.start(manifest, block=block)
    else:
        _retire(place, pending, block=block)
    files.remove(place.unconfirmed)
    place.remember("restored", to=before, **{"from": pending["to"]}, why=why, **held)
    return {"changed": True, "to": before, "from": pending["to"]}


def settle(place: Place, *, block: bool = True) -> dict[str, Any]:
    """Finish what an interrupted run left: a trial from before the boot, or one that is overdue."""
    release.sweep(place)
    pending = place.pending()
    if pending is None:
        files.remove(place.spare)
        service = current_service(place)
        if isinstance(service, Systemd) and service.drop_in.exists():
            service.prepare(judged=False)
        return {"changed": False}
    if pending["boot_id"] != procs.boot_id():
        return restore(place, "the node was rebooted before the release was confirmed", block=block)
    if procs.uptime() > float(pending["deadline"]):
        return restore(place, "nobody confirmed the release in time", block=block)
    return {"changed": False}


def start(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Start the current release; nothing happens if it runs."""
    digest, service = _settled(place)
    manifest = place.manifest(digest)
    if service.running() is not None:
        files.remove(place.aside)
        return {"changed": False}
    _outfit(place, manifest, service, judged=False)
    held = sourced.noted(manifest)
    _cold_start(place, manifest, service)
    files.remove(place.aside)
    place.remember("start", to=digest, **held)
    return {"changed": True}


def stop(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Stop the current release until somebody starts it; nothing happens if none runs."""
    files.remove(place.aside)
    return halt(place)


def halt(place: Place) -> dict[str, Any]:
    """Stop the current release; nothing happens if none runs."""
    digest, service = _settled(place)
    if service.running() is None:
        return {"changed": False}
    service.stop(place.manifest(digest))
    place.remember("stop", to=digest)
    return {"changed": True}


def restart(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    digest, _ = _settled(place)
    neighbours.refuse(place, place.manifest(digest))
    stop(place, document)
    start(place, document)
    return {"changed": True}


def rollback_target(place: Place, prefix: str | None) -> str:
    """The release asked for, or the one that was confirmed before the current one.

    Raises:
        Trouble: there is none.
    """
    if prefix:
        return place.full(prefix)
    found = release.last_confirmed(place, but=place.current())
    if found is None:
        raise Trouble("no-release", f"{place.name} has no earlier release on this node that was ever healthy")
    return found


def _settled(place: Place) -> tuple[str, Service]:
    settle(place)
    digest = place.current()
    if digest is None:
        raise Trouble("no-release", f"{place.name} has no release on this node", "apply it first")
    pending = place.pending()
    if pending:
        raise Trouble(
            "locked", f"release {pending['to'][:12]} of {place.name} is on trial", "wait for it, or roll it back"
        )
    return digest, service_of(place, place.manifest(digest))


def _cold_start(place: Place, manifest: dict[str, Any], service: Service) -> None:
    neighbours.refuse(place, manifest)
    service.stop(manifest)
    kernels.settle(place.release(manifest["digest"]), manifest)
    _free(manifest)
    service.start(manifest)


def _outfit(
    place: Place, manifest: dict[str, Any], service: Service, *, judged: bool, old: str | None = None
) -> list[str]:
    """Put the files outside the release in order, and let the supervisor know."""
    changed = release.place_outside(place, manifest["digest"])
    if old and old != manifest["digest"]:
        changed += release.remove_outside(place.manifest(old), release.outside(manifest))
    return changed + service.prepare(judged=judged)


def _retire(place: Place, pending: dict[str, Any], *, block: bool) -> None:
    """Leave the node as if the release had never come; what it took over is put back, and runs if it ran."""
    manifest = place.manifest(pending["to"])
    service = service_of(place, manifest)
    service.retire()
    kernels.revert_in_place(manifest)
    release.remove_outside(manifest, [])
    release.put_back(place, manifest)
    files.remove(place.link)
    if isinstance(service, Systemd):
        files.remove(service.drop_in)
        service.reload()
        if pending.get("theirs_ran"):
            service.start(manifest, block=block)


def _free(manifest: dict[str, Any], limit_s: float = 30.0) -> None:
    """Wait until the ports and cards of a server are free."""
    end = time.monotonic() + limit_s
    ports = [int(port) for port in manifest["endpoint"].get("ports", [])]
    while True:
        taken = procs.holders(ports)
        busy = gpus.wedged(manifest.get("devices") or [])
        if not taken and not busy:
            return
        if time.monotonic() > end:
            break
        time.sleep(0.2)
    if taken:
        port, pid = next(iter(taken.items()))
        raise Trouble("port-taken", f"port {port} is taken by {told(pid)}", "stop it, or choose another server.port")
    raise Trouble(
        "wedged-card",
        f"card {busy[0]} keeps its memory although no process uses it",
        f"reset it: nvidia-smi --gpu-reset -i {busy[0]} (no process may use it), or reboot the node",
    )


def _unmoved(place: Place, document: dict[str, Any], current: str | None, pending: dict[str, Any] | None) -> None:
    if "expect" not in document or document["expect"] == current or current == document["digest"]:
        return
    if pending and document["expect"] == pending["from"]:
        return
    raise Trouble(
        "moved", f"{place.name} runs {(current or 'nothing')[:12]} now: it moved since the plan", "plan again"
    )


def _refuse_foreign(manifest: dict[str, Any], document: dict[str, Any]) -> None:
    found = release.foreign(manifest)
    if found and not document.get("take_over"):
        raise Trouble("foreign-file", f"{found[0]} was not written by dsv4deploy", "look at it, then use --take-over")


def _refuse_broken(place: Place, digest: str) -> None:
    bad = release.broken(place, digest)
    if bad:
        raise Trouble("broken-upload", f"{bad[0]['path']} of the release is {bad[0]['what']}", "apply again")
    kernels.refuse_unpatched(place.release(digest), place.manifest(digest))


def _on_trial(place: Place, manifest: dict[str, Any], pending: dict[str, Any]) -> bool:
    running = service_of(place, manifest).running()
    return running is not None and running["invocation"] == pending.get("invocation")


def _confirmed(place: Place, digest: str) -> bool:
    return any(entry.get("verb") == "confirmed" and entry.get("to") == digest for entry in place.history())
