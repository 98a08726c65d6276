"""A server that was applied before: started, stopped, shown, cleared up after."""

from __future__ import annotations

import time
from typing import Callable

from dsv4deploy.node import aside as standing
from dsv4deploy.node import release, switch
from dsv4deploy.node.lock import held, let_go
from dsv4deploy.node.observe import deployment
from dsv4deploy.node.place import Place
from dsv4deploy.node.supervisor import current_service
from dsv4deploy.node.trouble import Trouble
from dsv4deploy.node.verbs import Answer

_POLL_S = 1.0


def _alone(act: Callable[[Place, Answer], Answer]) -> Callable[[Place, Answer], Answer]:
    def acted(place: Place, document: Answer) -> Answer:
        with held(place, document):
            answer = act(place, document)
            let_go(place, document)
            return answer

    return acted


def _prune(place: Place, document: Answer) -> Answer:
    gone = release.prune(place, int(document.get("keep") or 1))
    return {"changed": bool(gone), "removed": gone}


def history(place: Place, document: Answer) -> Answer:
    return {"changed": False, "current": place.current(), "releases": place.installed(), "history": place.history()}


def status(place: Place, document: Answer) -> Answer:
    return {"changed": False, **deployment(place)}


def logs(place: Place, document: Answer) -> Answer:
    """The last lines, or from `mark` on what was written since; then it waits for news, for at most `limit_s` seconds."""
    service, mark = current_service(place), document.get("mark")
    if service is None:
        raise Trouble("no-release", f"{place.name} has no release on this node", "apply it first")
    since = time.time() - float(document["since_s"]) if document.get("since_s") else None
    lines, end = int(document.get("lines") or 100), time.monotonic() + float(document.get("limit_s") or 0)
    page = service.page(lines, since, mark)
    while not page.lines and time.monotonic() < end:
        time.sleep(_POLL_S)
        page = service.page(lines, since, mark)
    return {"changed": False, "lines": page.lines, "mark": page.mark}


aside = _alone(standing.aside)
renew = _alone(standing.renew)
start = _alone(switch.start)
stop = _alone(switch.stop)
restart = _alone(switch.restart)
prune = _alone(_prune)
