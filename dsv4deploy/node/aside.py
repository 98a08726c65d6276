"""A server that stands aside for somebody's experiment, and comes back by itself when that somebody is gone.

The file `aside` says for whom; it goes when the server is started or stopped by anybody.
"""

from __future__ import annotations

from typing import Any

from dsv4deploy.node import files, procs, release, switch
from dsv4deploy.node.lock import held, last_seen
from dsv4deploy.node.place import Place, places
from dsv4deploy.node.supervisor import current_service

_UNSEEN_S = 150.0
_GONE = "whoever started it is gone"


def aside(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Stop the server, and have it start again once the request's holder was not seen for `window_s` seconds.

    The holder is seen with everything that it does on this node. Nothing happens if no server runs.
    """
    service = current_service(place)
    if service is None or service.running() is None:
        return {"changed": False}
    holder = document.get("holder") or {}
    release.keep_tool(place)
    note = {"token": holder.get("token"), "who": holder.get("who", "somebody"), "since": procs.now()}
    patience = float(document.get("window_s") or _UNSEEN_S)
    files.write_json(place.aside, {**note, "boot_id": procs.boot_id(), "seen": procs.uptime(), "patience_s": patience})
    try:
        service.watch()
        switch.halt(place)
    except BaseException:
        files.remove(place.aside)
        raise
    return {"changed": True}


def renew(place: Place, document: dict[str, Any]) -> dict[str, Any]:
    """Let the server stand aside for longer; nothing happens if it does not, or does for somebody else."""
    note = files.read_json(place.aside)
    if note and note["token"] == (document.get("holder") or {}).get("token"):
        files.write_json(place.aside, {**note, "seen": procs.uptime()})
    return {"changed": False}


def forgotten(place: Place) -> bool:
    """Whether the server stands aside for somebody who is gone."""
    note = files.read_json(place.aside)
    if note is None:
        return False
    if note["boot_id"] != procs.boot_id():
        files.remove(place.aside)  # what starts with the node has started
        return False
    seen = (last_seen(one, note["token"]) for one in places(place.folder.parent))
    return bool(procs.uptime() - max(note["seen"], *seen, 0.0) > note["patience_s"])


def bring_back(place: Place) -> None:
    """End what its holder left on trial on this node, and start the server.

    Raises:
        Trouble: it cannot be started yet, a card or a port of it is taken, say.
    """
    token = (files.read_json(place.aside) or {}).get("token")
    for one in places(place.folder.parent) if token else ():
        if (one.pending() or {}).get("token") == token:
            with held(one, {}):
                switch.restore(one, _GONE)
    with held(place, {}):
        if forgotten(place):
            switch.start(place, {})
