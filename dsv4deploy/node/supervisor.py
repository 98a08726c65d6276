"""Who runs the server of a release: systemd, or a keeper of ours."""

from __future__ import annotations

import os
from typing import Any, Union

from dsv4deploy.node.place import Place
from dsv4deploy.node.process import Keeper
from dsv4deploy.node.systemd import Systemd
from dsv4deploy.node.trouble import Trouble

Service = Union[Systemd, Keeper]


def service_of(place: Place, manifest: dict[str, Any]) -> Service:
    """The supervisor that the manifest asks for."""
    if manifest["service"]["supervisor"] == "process":
        return Keeper(place)
    if os.geteuid() != 0:
        raise Trouble("system", "a systemd unit needs root", "use --become, or service: {supervisor: process}")
    return Systemd(place)


def current_service(place: Place) -> Service | None:
    digest = place.current()
    return service_of(place, place.manifest(digest)) if digest else None
