"""What a server answered when it was asked whether it is healthy."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import Field

from dsv4deploy.model.observed import Answer


class Checked(Answer):
    """One check: `bad` is a failure, `unknown` means that nobody can tell now."""

    check: str
    state: Literal["good", "bad", "unknown", "skipped"]
    told: str
    details: tuple[str, ...] = ()


class Card(Answer):
    """The memory of one card of the server, in MiB."""

    index: int
    used_mib: float
    total_mib: float


class Checkup(Answer):
    """All checks of one server; `settings` are its own, `texts` its answers by kind of request."""

    state: Literal["good", "bad", "unknown"]
    checks: tuple[Checked, ...]
    settings: Mapping[str, Any] = Field(default_factory=dict)
    texts: Mapping[str, str] = Field(default_factory=dict)
    cards: tuple[Card, ...] = ()
    manifest: Mapping[str, Any] = Field(default_factory=dict)
    digest: str = ""
