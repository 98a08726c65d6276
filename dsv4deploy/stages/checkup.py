"""What a checkup tells beyond itself: what the engine changed by itself, and whether answers are as they once were."""

import difflib
from collections.abc import Mapping
from typing import Any

from dsv4deploy.model.checked import Checkup
from dsv4deploy.node.checks import every
from dsv4deploy.node.checks.server_info import silently

# Answers of one model at temperature 0 differ a little with the batch that they ran in; another text altogether is news.
_ALIKE = 0.5


def changed(checkup: Checkup, argv: list[str], defaults: Mapping[str, Any]) -> tuple[str, ...]:
    """Every setting that nobody asked for and that is not the default of this engine version."""
    return tuple(silently(dict(checkup.settings), argv, dict(defaults)))


def unlike(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of requests whose answers have little in common with those that were kept."""
    shared = [kind for kind in now if kind in before]
    return tuple(kind for kind in shared if _alike(before[kind], now[kind]) < _ALIKE)


def failure(checkup: Checkup) -> Mapping[str, Any] | None:
    """The failed check in the words of a judged start, for a mark; None if none speaks of the configuration."""
    failed = every.failure([one.model_dump() for one in checkup.checks])
    return {**failed, "digest": checkup.digest} if failed else None


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.split(), other.split()).ratio()
