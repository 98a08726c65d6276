"""What the account of one launch is made from."""

from typing import NamedTuple

from dsv4deploy.model.checkpoint import Checkpoint, Geometry
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.memory import Measured, Workload
from dsv4deploy.stages.memory.launched import Launched


class Inputs(NamedTuple):
    """One launch, the card and the model that it runs on, what is wanted of it and what was measured before."""

    launch: Launched
    facts: Facts
    checkpoint: Checkpoint
    measured: Measured
    workload: Workload

    @property
    def shape(self) -> Geometry:
        """The model's shape."""
        return self.checkpoint.geometry

    @property
    def prompt(self) -> int:
        """The longest prompt to plan for: the wanted one, else the whole context; 0 if neither is known."""
        return self.workload.longest_prompt or self.launch.context or 0
