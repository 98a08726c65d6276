"""Runs a rule's own examples, and tells which of its conditions no example needs."""

from collections.abc import Iterator, Mapping
from typing import Any

from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Laid, Launch, Setting, Variable
from dsv4deploy.model.rule import Condition, Example, Missing, Rule
from dsv4deploy.stages.check import finds, flag_of
from dsv4deploy.stages.effective import effective
from dsv4deploy.stages.situation import Situation


def failures(rule: Rule) -> tuple[str, ...]:
    """What is wrong with a rule's examples, a sentence each; empty if all is well."""
    given = rule.examples
    bad = [("the bad example", given.bad)]
    bad += [(f"bad example {n}", changed(given.bad, change)) for n, change in enumerate(given.also_bad, 2)]
    good = [(f"good example {n}", changed(given.bad, change)) for n, change in enumerate(given.good, 1)]
    told = [
        (name, _answer(rule, example), wanted)
        for wanted, some in (("found", bad), ("clear", good))
        for name, example in some
    ]
    return tuple(f"{name} is {answer}, not {wanted}" for name, answer, wanted in told if answer != wanted)


def idle(rule: Rule) -> tuple[str, ...]:
    """The conditions that could be taken out without any example noticing, a sentence each."""
    return tuple(f"no example needs {what}" for what, mutant in mutants(rule) if not failures(mutant))


def mutants(rule: Rule) -> Iterator[tuple[str, Rule]]:
    """The rule with one of its conditions taken out, for each of them, and what was taken out."""
    for number, condition in enumerate(rule.when):
        yield _words(condition), _with(rule, "when", (*rule.when[:number], *rule.when[number + 1 :]))
        for inner in range(len(condition.any_)):
            fewer = condition.model_copy(update={"any_": condition.any_[:inner] + condition.any_[inner + 1 :]})
            yield (
                f"one of any: {_words(condition.any_[inner])}",
                _with(rule, "when", (*rule.when[:number], fewer, *rule.when[number + 1 :])),
            )
    for number, condition in enumerate(rule.unless):
        yield f"unless {_words(condition)}", _with(rule, "unless", (*rule.unless[:number], *rule.unless[number + 1 :]))
    for name in ("engine", "arch", "family"):
        if getattr(rule.scope, name):
            empty = type(rule.scope).model_fields[name].default
            yield f"scope {name}", _with(rule, "scope", rule.scope.model_copy(update={name: empty}))


def situation(example: Example) -> Situation:
    """The launch and facts of an example, as somebody to ask."""
    facts = Facts.model_validate(example.facts)
    launch = Launch(
        version=example.version,
        settings={dest: Setting(dest, _frozen(value), flag_of(dest)) for dest, value in example.settings.items()},
        environment={name: Variable(name, value) for name, value in example.env.items() if value is not None},
        build=example.build,
        patches={name: Laid(files=files) for name, files in example.patches.items() if files is not None},
    )
    return Situation(launch, facts, effective=effective(launch, None, facts), profile=example.profile)


def changed(bad: Example, change: Example) -> Example:
    """The bad example with the changes of a good one; None takes a key away."""
    return Example.model_validate(_merged(bad.model_dump(), change.model_dump(exclude_unset=True)))


def _answer(rule: Rule, example: Example) -> str:
    try:
        found = finds(rule, situation(example))
    except Missing as missing:
        return f"unknown (needs {', '.join(missing.needs)})"
    return "clear" if found is None else "found"


def _merged(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in change.items():
        inner = merged.get(key)
        if isinstance(value, Mapping) and isinstance(inner, Mapping):
            merged[key] = _merged(inner, value)
        elif value is None:
            merged.pop(key, None)
        else:
            merged[key] = value
    return merged


def _frozen(value: Any) -> Any:  # noqa: ANN401 (an argument of the engine may hold anything)
    return tuple(value) if isinstance(value, list) else value


def _with(rule: Rule, field: str, value: object) -> Rule:
    # A copy would carry the conditions that the original has worked out already.
    return Rule.model_construct(**{**{name: getattr(rule, name) for name in Rule.model_fields}, field: value})


def _words(condition: Condition) -> str:
    return str(condition.model_dump(by_alias=True, exclude_unset=True))
