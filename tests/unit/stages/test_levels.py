"""How much a finding matters follows from what happens and how we know."""

from typing import Any

import pytest

from dsv4deploy.model.rule import Rule
from dsv4deploy.stages.levels import level


def rule(severity: str, grade: str, **given: Any) -> Rule:
    source = {"grade": grade, "ref": "https://example.invalid/1", "saw": "it"}
    return Rule.model_validate(
        {
            "id": "one", "family": "own", "summary": "s", "severity": severity, "when": [{"setting": "tp_size", "is": 8}],
            "at": "setting:tp_size", "why": "w", "remedy": "r", "evidence": [source], "examples": {"bad": {}, "good": [{}]},
            **given,
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("severity", "grade", "mechanism", "expected"),
    [
        ("crash", "enforced", None, "error"),
        ("hang", "reproduced", None, "error"),
        ("wrong-output", "confirmed", None, "error"),
        ("refused", "reported", "because", "error"),
        ("crash", "reported", None, "warning"),
        ("crash", "inferred", "because", "warning"),
        ("slow", "confirmed", None, "warning"),
        ("risk", "reported", "because", "warning"),
        ("slow", "reported", None, "note"),
        ("risk", "inferred", None, "note"),
    ],
)
def test_the_table(severity: str, grade: str, mechanism: str | None, expected: str) -> None:
    assert level(rule(severity, grade, mechanism=mechanism)) == expected


def test_evidence_against_a_rule_does_not_make_it_surer() -> None:
    sources = [
        {"grade": "enforced", "ref": "x", "saw": "not so", "against": True},
        {"grade": "reported", "ref": "y", "saw": "so"},
    ]
    assert level(rule("crash", "reported", evidence=sources)) == "warning"


def test_a_persons_decision_comes_first() -> None:
    decided = rule("hang", "inferred", decision={"level": "error", "by": "us", "because": "it must"})
    assert level(decided) == "error"
