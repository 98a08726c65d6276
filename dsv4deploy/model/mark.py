"""A mark: one combination that failed on a real stack, so that nobody pays for it twice; one YAML file each.

Two people who see the same failure write the same file: everything that may differ between them stands in a sighting,
one line each, so that version control can unite both.
"""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import Field, StringConstraints

from dsv4deploy.model.facts import Frozen, Text
from dsv4deploy.model.shapes import MARK

MarkId = Annotated[str, StringConstraints(pattern=MARK)]
# A value of JSON; marks hold nothing that another program could not read.
Plain = Any


class Core(Frozen):
    """What a failure belongs to: with another one of these it is another stack."""

    engine_version: Text = None
    build: Text = None
    patches: tuple[str, ...] = Field((), description="digests of the patches")
    arch: Text = None
    model: str = Field("", description="last part of the model's path")
    model_facts: Mapping[str, Plain] = Field(default_factory=dict, description="what its config.json says, if known")
    rehearsal: bool = False


class Host(Frozen):
    """What a failure may depend on: versions below the engine, as far as they are known."""

    driver: Text = None
    cuda: Text = None
    torch: Text = None
    triton: Text = None
    flashinfer: Text = None
    sgl_kernel: Text = None
    nccl: Text = None


class Sighting(Frozen):
    """One time that it was seen: when (`2026-11-29T15:20:11Z`), where, and what was read there."""

    at: str
    node: str
    release: str = ""
    stage: Text = None
    root: str = Field("", description="the decisive line of the log")
    host: Host = Host()


class Condition(Frozen):
    """What was started, without what cannot matter to a failure.

    `settings` holds what took effect and is not the engine's default; `written` what somebody wrote where that is
    something else, or where nobody could tell what took effect. `demand` holds the promised load (`health.longest_prompt`,
    `health.concurrency`) where that is what failed: less of it was never tried.
    """

    settings: Mapping[str, Plain] = Field(default_factory=dict)
    written: Mapping[str, Plain] = Field(default_factory=dict)
    environment: Mapping[str, str] = Field(default_factory=dict)
    demand: Mapping[str, int] = Field(default_factory=dict)


class Retired(Frozen):
    """That it counts no more, since when and why."""

    at: str
    because: str


class Mark(Frozen):
    """One known-bad combination.

    With `rule` it confirms that rule of the catalogue on its stack, and covers what the rule finds there. Without one
    only the whole configuration is known to have failed, and exactly that is covered.
    """

    id: MarkId
    name: str = Field(description="of the deployment")
    class_: Text = Field(None, alias="class", description="class of the failure; none: not recognised")
    rule: Text = None
    core: Core
    condition: Condition
    excerpt: tuple[str, ...] = Field((), description="the last lines of the log, without secrets")
    sightings: tuple[Sighting, ...] = Field(min_length=1)
    retired: Retired | None = None

    @property
    def last(self) -> Sighting:
        """The newest sighting."""
        return max(self.sightings, key=lambda one: one.at)


class Success(Frozen):
    """One configuration that was ready on a stack; `key` is that of configuration and stack together."""

    key: str
    at: str
    node: str
    name: str
    seconds: float | None = None
