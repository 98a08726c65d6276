"""An experiment: arms that differ by one variable each, what their outcomes would mean, and the trials that were made."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from dsv4deploy.model.profile.section import Count, Port, Section
from dsv4deploy.model.shapes import WORD
from dsv4deploy.model.text import Line, Name

# `ready`, `reached`, `failed` (whatever the class), `check-failed`, `progressing` or the class of a failure.
Word = Annotated[str, Field(pattern=WORD)]

# What becomes of an arm. `failed` in a table stands for any class of failure, and for a check that failed.
READY: Final = "ready"
REACHED: Final = "reached"
CHECK_FAILED: Final = "check-failed"
PROGRESSING: Final = "progressing"
INFRASTRUCTURAL: Final = "infrastructure"
FAILED: Final = "failed"
# The words that say of no configuration that it is bad.
ENDS: Final = (READY, REACHED, PROGRESSING, INFRASTRUCTURAL)

# A start that is this far has everything before it behind it: `warmup` means that the capture went well.
Stage = Literal["init", "load", "pool", "capture", "warmup"]
Check = Literal["log", "gpus", "endpoints", "server-info", "patches", "metrics", "smoke", "capacity"]


class Hypothesis(Section):
    """One explanation that competes with the others."""

    says: Annotated[Line, Field(description="the explanation, in a sentence")]
    blames: Annotated[tuple[str, ...], Field(description="profile paths that it holds responsible")] = ()
    mechanism: Annotated[Line | None, Field(description="how it would go wrong, in a word that arms can name")] = None


class Arm(Section):
    """One way to start the server: the base profile with a few changes."""

    changes: Annotated[Mapping[str, Any], Field(default_factory=dict, description="profile path to value")]
    variants: Annotated[tuple[Name, ...], Field(description="variants of the profile to lay over it")] = ()
    control: Annotated[Name | None, Field(description="the arm that it is compared with; none: it is a control")] = None
    deadline_s: Annotated[Count | None, Field(description="seconds that it has; left out: what all have")] = None
    reach: Annotated[Stage | None, Field(description="stage at which it has come far enough; left out: as all")] = None
    still: Annotated[tuple[Line, ...], Field(description="mechanisms that are at work here all the same")] = ()


class Decision(Section):
    """What certain outcomes mean; the first row of the table that fits is the verdict."""

    when: Annotated[Mapping[str, Word], Field(min_length=1, description="arm to outcome")]
    verdict: Annotated[Line, Field(description="what they mean")]
    supports: Annotated[Name | None, Field(description="the hypothesis that they support")] = None
    matters: Annotated[tuple[str, ...], Field(description="profile paths that were shown to matter")] = ()
    remedy: Annotated[Line | None, Field(description="what to do, for the rule")] = None


class Polls(Section):
    """A deadline as somebody who polls a log has it."""

    count: Annotated[Count, Field(description="polls before one gives up")]
    every_s: Annotated[Count, Field(description="seconds between two")]


class Experiment(Section):
    """One question, the arms that shall answer it, and what their outcomes mean."""

    name: Annotated[Name, Field(description="name of the experiment")]
    question: Annotated[Line, Field(description="what is asked")]
    profile: Annotated[Line, Field(description="the base profile; a path beside this file")]
    hypotheses: Annotated[Mapping[Name, Hypothesis], Field(default_factory=dict, description="what may be true")]
    arms: Annotated[Mapping[Name, Arm], Field(min_length=1, description="in the order in which they run")]
    decide: Annotated[tuple[Decision, ...], Field(min_length=1, description="from outcomes to verdicts")]
    deadline_s: Annotated[Count | None, Field(description="seconds that an arm has")] = None
    polls: Annotated[Polls | None, Field(description="the same as a number of polls")] = None
    repeats: Annotated[Count, Field(le=20, description="launches of each arm")] = 1
    reach: Annotated[
        Stage | None,
        Field(description="stage at which an arm has come far enough and counts as `reached`; left out: ready"),
    ] = None
    checks: Annotated[
        tuple[Check, ...],
        Field(description="health checks of the profile that a ready arm must pass; else it is `check-failed`"),
    ] = ()
    port: Annotated[
        Port | None, Field(description="port of the arms; left out: a free one, or that of the profile")
    ] = None
    running: Annotated[
        Literal["stop-and-restore", "leave"], Field(description="what becomes of the service that runs there")
    ] = "stop-and-restore"

    def goal(self, arm: str) -> Stage | None:
        """The stage at which an arm has come far enough; None where it must get ready."""
        return self.arms[arm].reach or self.reach

    def limit_s(self, arm: str) -> float | None:
        """Seconds that an arm has; None where the profile says."""
        common = self.polls.count * self.polls.every_s if self.polls else self.deadline_s
        return self.arms[arm].deadline_s or common


@dataclass(frozen=True, slots=True)
class Trial:
    """One launch of an arm, and how it ended.

    Attributes:
        key: what was started, and on which stack; a trial with the same key need not be made again.
        outcome: `ready`, `progressing`, `infrastructure`, or the class of the failure (`unrecognised` without one).
        root: the decisive line of the log.
    """

    experiment: str
    arm: str
    key: str
    outcome: str
    node: str
    at: str
    seconds: float
    stage: str = ""
    root: str = ""
    rehearsal: bool = False
    record: str = ""


class Kind(StrEnum):
    """What kind of answer a verdict is; only one of them settles anything."""

    DECIDED = "decided"
    FLAKY = "flaky"
    INFRASTRUCTURE = "infrastructure"
    PROGRESSING = "progressing"
    UNDECIDED = "undecided"
    UNFINISHED = "unfinished"


@dataclass(frozen=True, slots=True)
class Judgement:
    """The verdict, the trials that it rests on, and what to do next."""

    kind: Kind
    verdict: str
    trials: tuple[Trial, ...] = ()
    decision: Decision | None = None
    next: str = ""
