"""A failure signature: which lines of a log show it, what it means, and what a person can do about it."""

from typing import Literal

from pydantic import Field

from dsv4deploy.model.facts import Frozen

Stage = Literal["args", "init", "load", "pool", "capture", "warmup", "serve"]


class Pattern(Frozen):
    """One way in which it shows on a line, after time stamp, rank and colours are taken off."""

    find: str | tuple[str, ...] = Field(min_length=1, description="text that the line holds; of several texts one")
    match: str | None = Field(
        None, description="Python regex that decides, searched in the line; named groups are kept"
    )
    raised: bool = Field(
        False, description="only as the text of an exception: log messages say the same of what they mend"
    )


class Sample(Frozen):
    """A recorded or documented line, and the stage at which it was said."""

    log: str
    stage: Stage = "args"


class Signature(Frozen):
    """One entry of the catalogue; the file's name is its id.

    `says` is what such a line proves. `cause`: it names what was illegal, missing or refused. `symptom`: a consequence
    seen from outside, which counts where no cause was seen. `bare`: counts only when a process died and nothing
    stronger was said. `advice`: the server lives on. `death`: a process is gone, of whatever. `stop`: we asked for it.
    `noise`: the line means nothing.
    """

    id: str
    says: Literal["cause", "symptom", "bare", "advice", "death", "stop", "noise"]
    class_: str | None = Field(None, alias="class", description="class that triage answers")
    title: str
    lines: tuple[Pattern, ...] = Field(min_length=1)
    unless: tuple[Pattern, ...] = Field(
        (), description="lines that refute it when they are among the newest of the log"
    )
    stages: tuple[Stage, ...] = Field((), description="stages at which it can be said; none: at all")
    over: tuple[str, ...] = Field((), description="classes that are only its consequence when both were said")
    dead: bool = Field(False, description="the process that says it does not live on")
    final: bool = Field(False, description="the start cannot succeed any more, even while the process lives")
    block: bool = Field(False, description="noise: the whole message is, with the traceback that follows")
    loud: bool = Field(False, description="counts although it stands in a warning")
    change: tuple[str, ...] = Field((), description="profile fields to change, the likeliest first")
    remedy: str = ""
    refute: str = Field("", description="an observation that would prove it wrong")
    rules: tuple[str, ...] = Field((), description="catalogue rules that it confirms where their condition holds")
    sources: tuple[str, ...] = Field(min_length=1)
    samples: tuple[Sample, ...] = Field(min_length=1)
