"""Every rule in the catalogue keeps the promises of a rule."""

import random
import re

import pytest

from dsv4deploy.flags import history
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.rule import KINDS, Rule
from dsv4deploy.source.rulebook import SHIPPED, rulebook
from dsv4deploy.stages.effective import RESOLVERS
from dsv4deploy.stages.examples import failures, mutants
from dsv4deploy.stages.traits import TRAITS

RULES = rulebook(SHIPPED)
MUTANTS = [(rule, what, mutant) for rule in RULES for what, mutant in mutants(rule)]
SAMPLE = random.Random(20261129).sample(MUTANTS, min(40, len(MUTANTS)))  # noqa: S311 (which rules, no secret)
# A remedy says what to do, so it starts with a verb.
VERBS = {
    "add", "allow", "apply", "ask", "bind", "boot", "build", "change", "check", "choose", "clear", "collect", "convert", "copy",
    "correct", "cut", "disable", "download", "drop", "enable", "export", "fetch", "fill", "fix", "free", "give", "install",
    "keep", "leave", "let", "limit", "list", "load", "lower", "make", "match", "measure", "mount", "move", "name", "pass",
    "pin", "point", "prove", "put", "quote", "raise", "read", "rebuild", "remove", "rename", "replace", "restore", "run",
    "serve", "set", "share", "spread", "start", "stop", "switch", "take", "test", "try", "turn", "unset", "update",
    "upgrade", "use", "wait", "watch", "write",
}  # fmt: skip


def named(rule: Rule) -> str:
    return f"{rule.family}/{rule.id}"


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_rule_finds_its_bad_example_and_leaves_its_good_ones_alone(rule: Rule) -> None:
    assert failures(rule) == ()


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_a_remedy_is_an_instruction(rule: Rule) -> None:
    assert rule.remedy.split()[0].lower() in VERBS


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_every_fact_and_trait_a_rule_speaks_of_exists(rule: Rule) -> None:
    for subject in (*rule.subjects(), rule.at, *rule.related, *rule.names):
        kind, _, name = subject.partition(":")
        assert kind in KINDS
        if kind == "fact":
            Facts().get(name)
        if kind == "trait":
            assert name in TRAITS


@pytest.mark.parametrize("rule", RULES, ids=named)
def test_evidence_can_be_followed(rule: Rule) -> None:
    for source in rule.evidence:
        assert re.match(r"https://|docs/|sglang |flashinfer |issue ", source.ref), source.ref


@pytest.mark.parametrize(("rule", "what", "mutant"), SAMPLE, ids=[f"{named(r)}: {what}" for r, what, _ in SAMPLE])
def test_no_condition_can_be_taken_out_unnoticed(rule: Rule, what: str, mutant: Rule) -> None:
    assert failures(mutant)


@pytest.mark.soak
def test_no_condition_of_any_rule_can_be_taken_out_unnoticed() -> None:
    assert [f"{named(rule)}: {what}" for rule, what, mutant in MUTANTS if not failures(mutant)] == []


# Arguments of forks, and the variable that a patch brings: no release has them.
LOADER = {"env:LD_LIBRARY_PATH"}
FORKS = {"enable_pcie_oneshot_allreduce", "env:SGLANG_SM120_MMA_FLASHMLA"}


def test_every_argument_and_variable_a_rule_speaks_of_is_one_of_the_engine() -> None:
    releases = [history().at(version) for version in history().versions]
    arguments = {flag.dest for release in releases for flag in release.flags.values()} | set(RESOLVERS) | FORKS
    variables = {name for release in releases for name in release.variables}
    unheard = []
    for rule in RULES:
        for subject in (*rule.subjects(), rule.at, *rule.related, *rule.names):
            kind, _, name = subject.partition(":")
            if kind in {"setting", "written"} and name not in arguments:
                unheard.append((rule.id, subject))
            if kind == "env" and name not in variables and subject not in FORKS | LOADER:
                unheard.append((rule.id, subject))
    assert unheard == []
