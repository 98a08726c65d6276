"""What takes effect: the value that the engine ends up with for each of its arguments, and why."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dsv4deploy.model.launch import Json


class Basis(StrEnum):
    """How we know an effective value, the surest first."""

    WRITTEN = "written"  # nobody changes what was written, or the default
    OBSERVED = "observed"  # the engine's own argument code was executed
    READ = "read"  # read in the engine's source
    INFERRED = "inferred"  # reasoned


class Outcome(NamedTuple):
    """One argument: what was written, what takes effect, and why.

    Attributes:
        dest: SGLang's own name for it; renamed arguments stand under their newest name.
        value: what takes effect; meaningless while `needs` is not empty.
        written: what somebody wrote; None if nobody did.
        why: one sentence.
        basis: how we know.
        needs: keys of the facts without which nobody can tell; empty if the value is known.
    """

    dest: str
    value: Json
    written: Json = None
    why: str = ""
    basis: Basis = Basis.WRITTEN
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Effective:
    """All arguments that somebody wrote or that the engine decides by itself, and the variables it sets."""

    settings: Mapping[str, Outcome] = field(default_factory=dict)
    environment: Mapping[str, Outcome] = field(default_factory=dict)
