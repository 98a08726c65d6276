"""Rules for reading: a table, the page of one rule, the reference of all, and how far the catalogue reaches."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dsv4deploy.model.rule import Condition, Rule
from dsv4deploy.stages.levels import level

OPERATORS = ("is", "in", "within", "above", "below", "set")


def rules_table(rules: Sequence[Rule]) -> str:
    """One line a rule: family, level, id, summary."""
    rows = [(rule.family, level(rule).value, rule.id, rule.summary) for rule in rules]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        "  ".join((*map(str.ljust, row[:3], widths), row[3])) + (" (retired)" if rule.stability == "retired" else "")
        for row, rule in zip(rows, rules, strict=True)
    ]
    return "\n".join([*lines, f"{len(rules)} rules"])


def rules_tree(rules: Iterable[Rule]) -> dict[str, Any]:
    """The same for programs, schema `rules/1`."""
    return {"schema": "rules/1", "rules": [rule_tree(rule) for rule in rules]}


def rule_tree(rule: Rule) -> dict[str, Any]:
    """One rule for programs."""
    return {
        "id": rule.id,
        "family": rule.family,
        "level": level(rule).value,
        "severity": rule.severity.value,
        "grade": rule.grade.value,
        "stability": rule.stability,
        "summary": rule.summary,
        "subjects": list(rule.subjects()),
        "engine": rule.scope.engine,
        "arch": list(rule.scope.arch),
        "remedy": rule.remedy,
        "evidence": [source.model_dump(mode="json", exclude_defaults=True) for source in rule.evidence],
    }


def rule_text(rule: Rule) -> str:
    """What `explain` prints of one rule."""
    parts = [
        f"{level(rule)}[{rule.id}]: {rule.summary}",
        f"family {rule.family}, {rule.severity}, {rule.grade}, {_standing(rule)}",
        f"When all hold:\n{_listed(_conditions(rule))}",
        f"Unless it is known that\n{_listed(map(said, rule.unless))}" if rule.unless else "",
        f"Effect: {rule.why}",
        f"How: {rule.mechanism}" if rule.mechanism else "",
        f"Remedy: {rule.remedy}",
        f"Evidence:\n{_listed(map(str, rule.evidence))}",
        f"The level was set by {rule.decision.by}, because {rule.decision.because}." if rule.decision else "",
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def rules_page(rules: Iterable[Rule], families: Mapping[str, str]) -> str:
    """docs/reference/rules.md: all rules, grouped by family; `families` gives the sentence of each."""
    by_family: dict[str, list[Rule]] = {}
    for rule in rules:
        by_family.setdefault(rule.family, []).append(rule)
    total = sum(map(len, by_family.values()))
    head = f"# Rules\n\nThis page is generated: `make docs`.\n\n{total} rules in {len(by_family)} families.\n"
    return "\n".join([head, *(_section(name, families[name], some) for name, some in by_family.items())])


def coverage(rules: Sequence[Rule]) -> str:
    """How many rules there are by family, by level, by grade and by what they ask."""
    kinds = Counter(subject.partition(":")[0] for rule in rules for subject in rule.subjects())
    counts = {
        "family": Counter(rule.family for rule in rules),
        "level": Counter(level(rule).value for rule in rules),
        "grade": Counter(rule.grade.value for rule in rules),
        "asks": kinds,
        "arch": Counter(arch for rule in rules for arch in rule.scope.arch),
    }
    lines = [f"{name:8}{', '.join(f'{key} {n}' for key, n in count.most_common())}" for name, count in counts.items()]
    return "\n".join([f"{len(rules)} rules", *lines])


def said(condition: Condition) -> str:
    """One condition in words."""
    if condition.not_:
        return f"not: {said(condition.not_)}"
    if condition.any_:
        return " or ".join(f"({said(one)})" if one.any_ else said(one) for one in condition.any_)
    given = condition.model_dump(by_alias=True, exclude_unset=True)
    operator = next(name for name in OPERATORS if name in given)
    value = given[operator]
    shown = ", ".join(_value(one) for one in value) if isinstance(value, tuple) else _value(value)
    if operator == "set":
        return f"{condition.subject} is {'set' if value else 'not set'}"
    return f"{condition.subject} {'is' if operator == 'is' else f'is {operator}'} {shown}"


def _value(value: object) -> str:
    return {None: "nothing", True: "true", False: "false", "": "an empty text"}.get(value, str(value))  # type: ignore[call-overload, no-any-return]


def _conditions(rule: Rule) -> list[str]:
    own = "and what the Python file beside it works out" if rule.verdict else ""
    return [*map(said, rule.conditions), *([own] if own else [])]


def _standing(rule: Rule) -> str:
    stock = ", of the stock engine" if rule.stock else ""
    return f"{rule.stability}{f', fixed in {rule.fixed_in}' if rule.fixed_in else ''}{stock}"


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _section(name: str, sentence: str, rules: Sequence[Rule]) -> str:
    return "\n".join([f"## {name}\n\n{sentence}\n", *map(_entry, rules)])


def _entry(rule: Rule) -> str:
    sources = "\n".join(f"- {_linked(str(source), source.ref)}" for source in rule.evidence)
    unless = f"Unless it is known that {' or '.join(map(said, rule.unless))}.\n" if rule.unless else ""
    return (
        f"### {rule.id}\n\n{level(rule)}, {rule.severity}: {rule.summary}.\n\n"
        f"When {'; '.join(_conditions(rule))}.\n{unless}\n{rule.why}\n\nRemedy: {rule.remedy}\n\n{sources}\n"
    )


def _linked(line: str, ref: str) -> str:
    if ref.startswith("https://"):
        return line.replace(f"[{ref}]", f"[source]({ref})")
    return line.replace(f"[{ref}]", f"[source](../{ref.removeprefix('docs/')})") if ref.startswith("docs/") else line
