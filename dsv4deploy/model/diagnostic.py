"""What is told to the user: anything that validate, render, plan or a check has to say."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from dsv4deploy.model.place import Place


class Level(StrEnum):
    """How much it matters; the order of the members is the order in which they are shown."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Related(NamedTuple):
    """A second place that has to do with it, and how."""

    place: Place
    label: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One thing told, in four parts: what was written, why it matters, how we know, what to do.

    Attributes:
        rule: slug of the rule or of the error class; `dsv4deploy explain RULE` says more.
        level: error, warning or note.
        message: one line, with the user's own value in it.
        names: its subjects (`--flag`, `ENV_NAME`, `fact:key`, `missing:--flag`, `profile:path`); at most four.
        place: where it was written; None if it is about no text (a node, the command line).
        label: what stands under the underlined text.
        related: further places, in reading order.
        effect: what happens if nothing is done.
        evidence: how we know, one sentence a source, the strongest first.
        remedy: what to do, ready to paste where possible.
    """

    rule: str
    level: Level
    message: str
    names: tuple[str, ...] = ()
    place: Place | None = None
    label: str = ""
    related: tuple[Related, ...] = ()
    effect: str = ""
    evidence: tuple[str, ...] = ()
    remedy: str = ""


def in_reading_order(diagnostics: Iterable[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Sorted by file, line, column and rule; what has no place comes first."""
    nowhere = Place("", 0, 0, 0, 0)
    return tuple(sorted(diagnostics, key=lambda one: (one.place or nowhere, one.rule, one.message)))


class Unknown(NamedTuple):
    """A rule that could not be decided, and the facts that would decide it (keys of the facts document)."""

    rule: str
    needs: tuple[str, ...]


class Waived(NamedTuple):
    """A diagnostic that the profile allows, with the reason that was given."""

    diagnostic: Diagnostic
    reason: str
    until: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """The outcome of looking at one profile: everything found, not decided and allowed."""

    diagnostics: tuple[Diagnostic, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    waived: tuple[Waived, ...] = ()
    looked_at: int = field(default=0)

    @property
    def blocks(self) -> bool:
        """Whether anything stands at error level."""
        return any(d.level is Level.ERROR for d in self.diagnostics)


class Refused(Exception):  # noqa: N818 (the user's text is refused; it is no error of ours)
    """Diagnostics that stop the flow: nothing can be made of what was written.

    `sources` holds the lines of the texts that their places point into.
    """

    def __init__(self, diagnostics: Iterable[Diagnostic], sources: Mapping[str, tuple[str, ...]]) -> None:
        from dsv4deploy.model.error_class import reasoned  # noqa: PLC0415 (it knows what a diagnostic is)

        self.diagnostics = in_reading_order(map(reasoned, diagnostics))
        super().__init__("; ".join(diagnostic.message for diagnostic in self.diagnostics))
        self.sources = sources
