"""A report as JSON for other programs, `validate/1`: the same bytes for the same report."""

import json
from typing import Any, TypeAlias

from dsv4deploy.model.diagnostic import Diagnostic, Report, Unknown, Waived, in_reading_order
from dsv4deploy.model.place import Place

SCHEMA = "validate/1"
Object: TypeAlias = dict[str, Any]


def render(report: Report) -> str:
    """`report` as JSON, indented, ending in a line break."""
    return json.dumps(as_object(report), indent=2, ensure_ascii=False) + "\n"


def as_object(report: Report) -> Object:
    """`report` as plain values; diagnostics sorted by file, line, column and rule."""
    waived = sorted(report.waived, key=lambda one: (one.diagnostic.rule, str(one.diagnostic.place)))
    return {
        "schema": SCHEMA,
        "diagnostics": [_diagnostic(one) for one in in_reading_order(report.diagnostics)],
        "unknown": [_unknown(one) for one in sorted(report.unknown, key=lambda one: (one.rule, one.needs))],
        "waived": [_waived(one) for one in waived],
        "looked_at": report.looked_at,
    }


def _diagnostic(one: Diagnostic) -> Object:
    return {
        "rule": one.rule,
        "level": one.level.value,
        "names": list(one.names),
        "message": one.message,
        "label": one.label,
        "place": _place(one.place),
        "related": [{"place": _place(related.place), "label": related.label} for related in one.related],
        "effect": one.effect,
        "evidence": list(one.evidence),
        "remedy": one.remedy,
    }


def _place(place: Place | None) -> Object | None:
    if place is None:
        return None
    return {
        "file": place.file,
        "line": place.line,
        "column": place.column,
        "end_line": place.end_line,
        "end_column": place.end_column,
    }


def _unknown(one: Unknown) -> Object:
    return {"rule": one.rule, "needs": list(one.needs)}


def _waived(one: Waived) -> Object:
    return {**_diagnostic(one.diagnostic), "reason": one.reason, "until": one.until}
