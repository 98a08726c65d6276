"""How much a finding matters: what happens and how we know it, in one table."""

from collections.abc import Mapping
from typing import Final

from dsv4deploy.model.diagnostic import Level
from dsv4deploy.model.rule import Grade, Rule, Severity

# A report whose mechanism is stated and can be checked weighs as much as a confirmation.
LEVELS: Mapping[Grade, Level] = {
    Grade.ENFORCED: Level.ERROR,
    Grade.REPRODUCED: Level.ERROR,
    Grade.CONFIRMED: Level.ERROR,
    Grade.REPORTED: Level.WARNING,
    Grade.INFERRED: Level.WARNING,
}
MILD: Final = {Severity.SLOW, Severity.RISK}
MILDER: Mapping[Level, Level] = {Level.ERROR: Level.WARNING, Level.WARNING: Level.NOTE, Level.NOTE: Level.NOTE}


def level(rule: Rule) -> Level:
    """The level a rule speaks at; a person's decision comes before the table."""
    if rule.decision:
        return rule.decision.level
    sure = LEVELS[rule.grade]
    if rule.grade is Grade.REPORTED and rule.mechanism:
        sure = Level.ERROR
    return MILDER[sure] if rule.severity in MILD else sure
