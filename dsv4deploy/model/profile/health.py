"""What the server must hold, how its health is asked, and which rules are waived."""

from typing import Annotated, Literal

from pydantic import Field

from dsv4deploy.model.profile.section import Count, Flag, Seconds, Section
from dsv4deploy.model.shapes import DAY, ENDPOINT, METRIC
from dsv4deploy.model.text import Line, Pattern


class Smoke(Section):
    """What a completion must be like; garbage (repetition, no variety, broken characters) is always a failure."""

    prompt: Annotated[Line | None, Field(description="prompt of the short request; left out: our own")] = None
    contains: Annotated[
        tuple[Line, ...], Field(description="texts that the answer to the short request must hold, such as Paris")
    ] = ()
    recall: Annotated[
        Flag, Field(description="the answer to the long request must hold the word that its beginning told")
    ] = False
    script: Annotated[
        Literal["latin", "han", "cyrillic", "any"], Field(description="script of most letters of an answer")
    ] = "any"
    max_tokens: Annotated[Count, Field(description="tokens of each answer")] = 48


class LogLines(Section):
    """Lines of the log of this start: Python regular expressions, searched in each line."""

    expect: Annotated[
        tuple[Pattern, ...], Field(description="each must be there, such as `sparse MLA kernel: tensor cores`")
    ] = ()
    forbid: Annotated[
        tuple[Pattern, ...], Field(description="none may be there, such as `Using default MoE config`")
    ] = ()


class Bounds(Section):
    """What a metric may be; the largest of its series counts."""

    above: Annotated[float | int | None, Field(description="it must be at least this")] = None
    below: Annotated[float | int | None, Field(description="it must be at most this")] = None


class Health(Section):
    """What the server is expected to hold, and what `dsv4deploy health` asks of it; a change of it needs no restart."""

    longest_prompt: Annotated[Count | None, Field(description="tokens of the longest prompt that must be served")] = (
        None
    )
    concurrency: Annotated[Count | None, Field(description="requests that must be served at once")] = None
    capacity: Annotated[
        Flag,
        Field(description="rehearse it in `dsv4deploy health`: the longest prompt, as often at once as must be served"),
    ] = False
    gate: Annotated[
        Flag,
        Field(description="a start counts as ready only if its completions, its settings and its capacity are fine"),
    ] = False
    timeout_s: Annotated[
        Seconds,
        Field(
            description="seconds for one answer; longer than the longest prefill, because a server that computes is not dead"
        ),
    ] = 300
    endpoints: Annotated[
        tuple[Annotated[str, Field(pattern=ENDPOINT)], ...],
        Field(description="paths that must answer 200, beside health"),
    ] = ("/v1/models",)
    smoke: Annotated[Smoke, Field(description="completions")] = Smoke.model_construct()
    log: Annotated[LogLines, Field(description="lines of the log")] = LogLines.model_construct()
    metrics: Annotated[
        dict[Annotated[str, Field(pattern=METRIC)], Bounds],
        Field(description="bounds by the name of the metric, with or without `sglang:`"),
    ] = {}


class Waiver(Section):
    """One rule that is allowed here, with the reason and an end."""

    rule: Annotated[Line, Field(description="id of the rule")]
    reason: Annotated[Line, Field(description="why it is allowed here")]
    until: Annotated[
        str | None,
        Field(pattern=DAY, description='last day on which it holds, quoted: "2027-01-31"'),
    ] = None
