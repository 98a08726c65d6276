"""What an apply would do, and why: changes by node and deployment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Action(StrEnum):
    """What a node does with one deployment."""

    NONE = "none"
    FIRST = "first start"
    RESTART = "restart"
    START = "start"
    IN_PLACE = "in place"
    JUDGE = "judge"
    REFUSE = "refuse"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Change:
    """One difference, and its reason; `before` and `after` are texts where there are any to compare."""

    subject: str
    reason: str
    before: str | None = None
    after: str | None = None


@dataclass(frozen=True, slots=True)
class Step:
    """What happens to one deployment on one node.

    Attributes:
        node: as the inventory names it.
        name: of the deployment.
        action: what happens.
        changes: each difference with its reason; for `refuse` and `unreachable`, what stands in the way.
        release: digest that is wanted.
        current: digest that the node runs now.
        cost_s: how long a start took there last, in seconds; None if it never did.
        warnings: what is worth knowing and stops nothing.
        notes: what is good to know.
    """

    node: str
    name: str
    action: Action
    changes: tuple[Change, ...] = ()
    release: str = ""
    current: str | None = None
    cost_s: float | None = None
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def stops_a_server(self) -> bool:
        """Whether a server that runs now goes down for it."""
        return self.action is Action.RESTART


@dataclass(frozen=True, slots=True)
class Plan:
    """All steps, in the order of the inventory."""

    steps: tuple[Step, ...] = ()

    @property
    def work(self) -> tuple[Step, ...]:
        """The steps that an apply has to take."""
        idle = {Action.NONE, Action.REFUSE, Action.UNREACHABLE}
        return tuple(step for step in self.steps if step.action not in idle)

    @property
    def refused(self) -> tuple[Step, ...]:
        return tuple(step for step in self.steps if step.action in {Action.REFUSE, Action.UNREACHABLE})


@dataclass(frozen=True, slots=True)
class Wanted:
    """A bundle that shall run on a node: its manifest, and its texts by path."""

    node: str
    manifest: Mapping[str, Any]
    texts: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return str(self.manifest["name"])

    @property
    def digest(self) -> str:
        return str(self.manifest["digest"])
