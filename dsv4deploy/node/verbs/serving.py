"""A server that was applied before: started, stopped, shown, cleared up after."""

from __future__ import annotations

from typing import Callable

from dsv4deploy.node import release, switch
from dsv4deploy.node.lock import held, let_go
from dsv4deploy.node.observe import deployment
from dsv4deploy.node.place import Place
from dsv4deploy.node.verbs import Answer


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
    service = switch.current_service(place)
    return {"changed": False, "lines": service.log(int(document.get("lines") or 100)) if service else []}


start = _alone(switch.start)
stop = _alone(switch.stop)
restart = _alone(switch.restart)
prune = _alone(_prune)
