"""The JSON of a report: complete, sorted, and the same for the same report."""

import json

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related, Report, Unknown, Waived
from dsv4deploy.model.place import Place
from dsv4deploy.views.machine import render

PLACE = Place("p.yaml", 8, 23, 8, 27)
ONE = Diagnostic(
    "some-rule", Level.ERROR, "é is wrong", ("env:X",), PLACE, "here", (Related(Place("b.yaml", 1, 1, 1, 2), "and here"),),
    "crash", ("reported: somewhere",), "do not",
)  # fmt: skip


def test_all_parts_of_a_diagnostic_are_there() -> None:
    answer = json.loads(render(Report((ONE,), (Unknown("r", ("iommu",)),), (Waived(ONE, "why", "2026-12-31"),), 7)))
    place = {"file": "p.yaml", "line": 8, "column": 23, "end_line": 8, "end_column": 27}
    diagnostic = {
        "rule": "some-rule",
        "level": "error",
        "names": ["env:X"],
        "message": "é is wrong",
        "label": "here",
        "place": place,
        "related": [
            {"place": {"file": "b.yaml", "line": 1, "column": 1, "end_line": 1, "end_column": 2}, "label": "and here"}
        ],
        "effect": "crash",
        "evidence": ["reported: somewhere"],
        "remedy": "do not",
    }
    assert answer == {
        "schema": "validate/1",
        "diagnostics": [diagnostic],
        "unknown": [{"rule": "r", "needs": ["iommu"]}],
        "waived": [{**diagnostic, "reason": "why", "until": "2026-12-31"}],
        "looked_at": 7,
    }


def test_the_order_is_file_line_column_rule_and_no_place_first() -> None:
    def at(file: str, line: int, column: int, rule: str) -> Diagnostic:
        return Diagnostic(rule, Level.NOTE, "", place=Place(file, line, column, line, column))

    expected = [
        Diagnostic("z", Level.NOTE, "no place"),
        at("a.yaml", 2, 9, "z"),
        at("a.yaml", 10, 1, "z"),
        at("a.yaml", 10, 2, "a"),
        at("a.yaml", 10, 2, "b"),
        at("b.yaml", 1, 1, "a"),
    ]
    bytes_given = render(Report(tuple(expected)))
    assert render(Report(tuple(reversed(expected)))) == bytes_given
    rules = [one["rule"] for one in json.loads(bytes_given)["diagnostics"]]
    assert rules == [one.rule for one in expected]


def test_hostile_text_stays_valid_json() -> None:
    hostile = Diagnostic("r", Level.ERROR, 'a"\n\x1b[31m\u2028')
    assert json.loads(render(Report((hostile,))))["diagnostics"][0]["message"] == hostile.message
