"""What became of the patches of a profile; a file of its own, so that a profile without any loads nothing else."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dsv4deploy.model.diagnostic import Diagnostic, Unknown
from dsv4deploy.model.document import Sources
from dsv4deploy.model.launch import Laid, Provided

if TYPE_CHECKING:
    from dsv4deploy.model.patch import Patch


@dataclass(frozen=True, slots=True)
class Patched:
    """The patches that a profile names, what they change and provide, and everything that is to be said about them.

    `unread` is true if one could not be read, so that nobody knows what it would change, read or provide.
    """

    patches: "tuple[Patch, ...]" = ()
    laid: Mapping[str, Laid] = field(default_factory=dict)
    provided: tuple[Provided, ...] = ()
    diagnostics: tuple[Diagnostic, ...] = ()
    unknown: tuple[Unknown, ...] = ()
    sources: Sources = field(default_factory=dict)
    unread: bool = False
