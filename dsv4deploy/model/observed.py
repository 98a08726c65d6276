"""Typed answers of the tool on a node about deployments; the tool's own documents, not ours, so further keys are let be."""

from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field


class Answer(BaseModel):
    """Base of what a node answers."""

    model_config = ConfigDict(
        defer_build=True, frozen=True, extra="ignore", protected_namespaces=(), populate_by_name=True
    )


class Problem(Answer):
    """One thing that must be put right first; `other` is the deployment of ours that stands in the way, if one does."""

    check: str
    message: str
    remedy: str = ""
    other: str = ""


class Drift(Answer):
    """A file that is not as its manifest says: `missing`, `edited`, `mode 0600`."""

    path: str
    what: str


class Trial(Answer):
    """A release that was started and is not confirmed yet."""

    to: str
    before: Annotated[str | None, Field(alias="from")] = None
    since: str = ""
    who: str | None = None


class Lock(Answer):
    """Who applies on a node now; `seen_s` seconds ago they were seen there last."""

    token: str
    who: str
    since: str
    seen_s: float
    controller: Mapping[str, Any] | None = None


class Aside(Answer):
    """For whose experiment a server is stopped; it comes back when they are done, or gone."""

    who: str
    since: str


class Running(Answer):
    """The process that runs; `as_written` is None where it cannot be told."""

    pid: int
    cmdline: tuple[str, ...] = ()
    as_written: bool | None = None
    environ_digest: str | None = None
    invocation: str | None = None


class Unit(Answer):
    """The service in its supervisor's words."""

    unit: str | None = None
    active: str | None = None
    result: str | None = None
    restarts: int = 0
    enabled: str | None = None


class Deployment(Answer):
    """One deployment on one node; `earlier` is the release, other than the current one, that was healthy last."""

    current: str | None = None
    releases: tuple[str, ...] = ()
    confirmed: str | None = None
    earlier: str | None = None
    pending: Trial | None = None
    lock: Lock | None = None
    aside: Aside | None = None
    drift: tuple[Drift, ...] = ()
    running: Running | None = None
    unit: Unit | None = None
    http: int | None = None
    stage: str | None = None
    load: Mapping[str, float] = Field(default_factory=dict)
    start_seconds: tuple[float, ...] = ()
    manifest: Mapping[str, Any] = Field(default_factory=dict)
    texts: Mapping[str, str] = Field(default_factory=dict)


class ModelFolder(Answer):
    """What a node read of a model folder; tensors are (name, dtype, bytes), the experts of one layer as one."""

    config: Mapping[str, Any] = Field(default_factory=dict)
    quantization: Mapping[str, Any] = Field(default_factory=dict)
    total_size: int | None = None
    names: tuple[str, ...] = ()
    tensors: tuple[tuple[str, str, int], ...] = ()
    missing: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    unreadable: tuple[str, ...] = ()
    strange: tuple[str, ...] = ()


class Laying(Answer):
    """What laying the patches of one package will take: `how` is `linked`, `copied`, `unpacked` or `in place`.

    `files` and `bytes` are those of the package, `seconds` what its last copy there took; None where it is not known.
    """

    name: str
    how: str
    files: int | None = None
    bytes: int | None = None
    seconds: float | None = None


class Against(Answer):
    """What a node says to a bundle that is wanted: facts of engine and model, what stands in the way, its patches."""

    engine: Mapping[str, Any] = Field(default_factory=dict)
    model: ModelFolder | None = None
    problems: tuple[Problem, ...] = ()
    warnings: tuple[Problem, ...] = ()
    patches: tuple[Laying, ...] = ()
    notes: tuple[str, ...] = ()


class Observation(Answer):
    """One node at one instant."""

    root: str
    boot_id: str
    python: str
    disk_free_mib: int
    facts: Mapping[str, Any] = Field(default_factory=dict)
    deployments: Mapping[str, Deployment] = Field(default_factory=dict)
    wanted: Mapping[str, Against] = Field(default_factory=dict)
