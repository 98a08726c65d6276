"""What a node tells of itself, as facts that decide rules which were unknown before."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dsv4deploy.flow import Asked
from dsv4deploy.model.checkpoint import ModelReading
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.observed import Observation
from dsv4deploy.source.model_folder import read_on_node

# A server that runs takes its own cards and ports, so these say nothing about the profile; preflight looks at who it is.
_OF_THE_MOMENT = {"gpu_busy", "gpu_memory_used_mib", "ports_in_use", "host_ram_available_gib"}


def known(told: Mapping[str, Any]) -> Facts:
    """What we know a name for; a newer tool may tell more."""
    return Facts(**{key: value for key, value in told.items() if key in Facts.model_fields})


def facts_for(name: str, seen: Observation | str) -> Facts:
    """What a node says of itself, and of engine and model of one deployment; nothing if it did not answer."""
    if isinstance(seen, str):
        return Facts()
    told = {**seen.facts, **seen.wanted[name].engine} if name in seen.wanted else dict(seen.facts)
    found = known({key: value for key, value in told.items() if key not in _OF_THE_MOMENT})
    reading = _model(name, seen)
    return found.model_copy(update={"model": reading.facts}) if reading else found


def with_node(asked: Asked, name: str, seen: Observation | str) -> Asked:
    """The same question with what the node says, and the shape of the model that it has."""
    reading = _model(name, seen)
    checkpoint = reading.checkpoint if reading else asked.checkpoint
    return replace(asked, facts=facts_for(name, seen), checkpoint=checkpoint)


def _model(name: str, seen: Observation | str) -> ModelReading | None:
    told = None if isinstance(seen, str) or name not in seen.wanted else seen.wanted[name].model
    return read_on_node(told) if told else None
