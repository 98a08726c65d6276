"""Who ends a trial that nobody else ends: while it runs, and after a reboot."""

from __future__ import annotations

import time

from dsv4deploy.node import switch
from dsv4deploy.node.lock import held
from dsv4deploy.node.place import Place
from dsv4deploy.node.procs import boot_id

_POLL_S = 1.0


def settle(place: Place) -> int:
    """End a trial from before the boot; one of now is left alone, because the run that began it holds the lock."""
    pending = place.pending()
    if pending and pending["boot_id"] != boot_id():
        with held(place, {}):
            switch.settle(place, block=False)
    return 0


def watch(place: Place) -> int:
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
