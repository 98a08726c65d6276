"""Who ends a trial that nobody else ends, and brings back what nobody else does: while it lasts, and after a reboot."""

from __future__ import annotations

import time
from importlib import import_module
from typing import Any

from dsv4deploy.node.lock import held, lease
from dsv4deploy.node.place import Place
from dsv4deploy.node.procs import boot_id, uptime
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.trouble import Trouble

_POLL_S = 1.0
_AGAIN_S = 10.0


def settle(place: Place) -> int:
    """End a trial from before the boot; one of now is left alone, because the run that began it holds the lock."""
    pending = place.pending()
    if pending and pending["boot_id"] != boot_id():
        with held(place, {}):
            _switch().settle(place, block=False)
    return 0


def watch(place: Place) -> int:
    """Wait until the trial is over, or the server no longer stands aside; end either if nobody is left to do it."""
    while place.unconfirmed.exists() or place.aside.exists():
        why = abandoned(place) if place.unconfirmed.exists() else None
        if why:
            with held(place, {}):
                if abandoned(place):
                    _switch().restore(place, why)
            return 0
        if place.aside.exists():
            _look_aside(place)
        time.sleep(_POLL_S)
    return 0


def _look_aside(place: Place) -> None:
    """Start the server again if it stands aside for somebody who is gone; what is in its way is waited for."""
    aside = import_module("dsv4deploy.node.aside")
    if aside.forgotten(place):
        try:
            aside.bring_back(place)
        except Trouble:
            time.sleep(_AGAIN_S)


def abandoned(place: Place) -> str | None:
    """Why the trial should end now without waiting for its deadline; None if it should go on."""
    pending = place.pending()
    if pending is None or pending["boot_id"] != boot_id() or uptime() > float(pending["deadline"]):
        return "overdue" if pending else None
    service = current_service(place)
    if pending["token"] and lease(place) is None and (service is None or service.running() is None):
        return "the process is gone, and so is whoever started it"
    return None


def _switch() -> Any:  # noqa: ANN401 (a module)
    """Compiled only where a trial ends badly: every start has a watch."""
    return import_module("dsv4deploy.node.switch")
