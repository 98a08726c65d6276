"""What was tried on a project and what came of it: trials, verdicts, applies and marks, for whoever was not there."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import Field

from dsv4deploy.model.experiment import Kind, Trial
from dsv4deploy.model.facts import Frozen
from dsv4deploy.model.mark import Condition, Core, Host, Mark


@dataclass(frozen=True, slots=True)
class Made:
    """One trial with the stack and the configuration that it was made with; without them where nobody wrote them down."""

    trial: Trial
    core: Core | None = None
    host: Host = field(default_factory=Host)
    condition: Condition = field(default_factory=Condition)


class ArmTold(Frozen):
    """One arm as its experiment had it: its control, and in what it differed from it."""

    control: str | None = None
    differs: str = ""


class Conclusion(Frozen):
    """What an experiment or a bisection came to, as it stands in its file; `trials` are the records it rests on."""

    name: str
    question: str
    at: str
    hypotheses: Mapping[str, str] = Field(default_factory=dict)
    arms: Mapping[str, ArmTold] = Field(default_factory=dict)
    objections: tuple[str, ...] = ()
    kind: Kind
    verdict: str
    supports: str | None = None
    matters: tuple[str, ...] = ()
    remedy: str | None = None
    next: str = ""
    trials: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Applied:
    """What one apply or rollback did to one deployment on one node; `end` is empty where it was never written down."""

    verb: str
    at: str
    record: str
    node: str = ""
    name: str = ""
    end: str = ""
    told: str = ""
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Campaign:
    """Everything that a project has written down, the oldest first."""

    name: str
    made: tuple[Made, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()
    applied: tuple[Applied, ...] = ()
    marks: tuple[Mark, ...] = ()
    drafts: tuple[str, ...] = ()
