"""Written against effective: a table for people and a tree for programs."""

from collections.abc import Mapping
from typing import Any

from dsv4deploy.model.effective import Basis, Effective, Outcome
from dsv4deploy.model.launch import Json

HEAD = ("", "written", "effective", "why")
DASH = "-"


def effective_table(effective: Effective) -> str:
    """Settings, then variables: what was written, what takes effect, why."""
    rows = [HEAD, *_rows(effective.settings), *_rows(effective.environment)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def effective_tree(effective: Effective) -> dict[str, Any]:
    """The same for programs, schema `effective/1`."""
    return {
        "schema": "effective/1",
        "settings": {name: _outcome(outcome) for name, outcome in effective.settings.items()},
        "environment": {name: _outcome(outcome) for name, outcome in effective.environment.items()},
    }


def _rows(outcomes: Mapping[str, Outcome]) -> list[tuple[str, ...]]:
    return [
        (name, _said(outcome.written), "unknown" if outcome.needs else _said(outcome.value), _why(outcome))
        for name, outcome in outcomes.items()
    ]


def _why(outcome: Outcome) -> str:
    if outcome.needs:
        return f"needs {', '.join(outcome.needs)}"
    basis = "" if outcome.basis is Basis.WRITTEN else f" ({outcome.basis})"
    return f"{outcome.why}{basis}".strip()


def _said(value: Json) -> str:
    return DASH if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _outcome(outcome: Outcome) -> dict[str, Any]:
    return {
        "written": outcome.written,
        "value": None if outcome.needs else outcome.value,
        "why": outcome.why,
        "basis": outcome.basis.value,
        "needs": list(outcome.needs),
    }
