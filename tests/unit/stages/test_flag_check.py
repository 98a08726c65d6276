"""Errors of a command line are told with place, effect, evidence and remedy."""

from collections.abc import Iterator

import pytest

from dsv4deploy.flags import history
from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.launch import Launch, Setting
from dsv4deploy.model.place import Place
from dsv4deploy.source.argv import parse
from dsv4deploy.stages.flag_check import flag_diagnostics, setting_diagnostics

NEWEST = history().versions[-1]


def place(word: int) -> Place:
    return Place("launch.sh", 1, 10 * word + 1, 1, 10 * word + 5)


def told(line: str, version: str = NEWEST) -> list[Diagnostic]:
    catalogue = history().at(version)
    parsed = parse(["--model-path", "m", *line.split()], catalogue, history())
    errors = [(error, place(error.words[0]) if error.words else None) for error in parsed.errors]
    return [*flag_diagnostics(errors, catalogue, history())]


@pytest.mark.parametrize(
    ("line", "version", "rule", "message", "remedy"),
    [
        ("--mem-fraction-statik 0.6", NEWEST, "unknown-flag", "no SGLang release from 0.5.6 on has", "did you mean --mem-fraction-static"),
        ("--cuda-graph 1", NEWEST, "ambiguous-flag", "is an abbreviation of", "--cuda-graph-config"),
        ("--cuda-graph-max-bs 32", "0.5.20", "removed-flag", "last version with it is 0.5.19", "--cuda-graph-max-bs-decode"),
        ("--cuda-graph-max-bs-decode 32", "0.5.13", "flag-not-yet", "first version with it is 0.5.14", "write --cuda-graph-max-bs"),
        ("--torchao-config x", NEWEST, "removed-flag", "0.5.17", "--quantization"),
        ("--ds-heavy-token-num 1", NEWEST, "removed-flag", "0.5.10.post1", "double sparsity was removed"),
        ("--nsa-prefill-cp-mode x", NEWEST, "removed-flag", "0.5.19", "write --cp-strategy"),
        ("--gpu-memory-utilization 0.9", NEWEST, "foreign-flag", "is a flag of vLLM", "write --mem-fraction-static"),
        ("--enforce-eager", "0.5.13", "foreign-flag", "vLLM", "write --disable-cuda-graph"),
        ("--kv-cache-dtype fp8", NEWEST, "foreign-flag", "is a choice of vLLM", "write --kv-cache-dtype fp8_e4m3"),
        ("--enable-prefix-caching", NEWEST, "foreign-flag", "vLLM", "on by default"),
        ("--attention-backend flashinfr", NEWEST, "invalid-choice", "cannot be flashinfr", "did you mean flashinfer"),
        ("--tp four", NEWEST, "wrong-type", "--tp-size cannot be 'four'", "a whole number"),
        ("--trust-remote-code true", NEWEST, "unexpected-value", "takes no value", "alone"),
        ("--served-model-name", NEWEST, "missing-value", "has no value", "text"),
        ("--tp 4 8", NEWEST, "stray-word", "'8' belongs to no flag", "remove it"),
        ("--help", NEWEST, "help-asked", "asks for help", "remove it"),
        ("--enable-expert-distribution-metrics", "0.5.19", "removed-flag", "refuses", "--expert-balancedness"),
    ],
)  # fmt: skip
def test_an_error_is_told_in_four_parts(line: str, version: str, rule: str, message: str, remedy: str) -> None:
    [diagnostic] = [each for each in told(line, version) if each.rule != "stray-word" or rule == "stray-word"]
    assert (diagnostic.rule, diagnostic.level) == (rule, Level.ERROR)
    assert message in diagnostic.message
    assert remedy in diagnostic.remedy
    assert diagnostic.place in {place(2), place(4)}
    assert diagnostic.effect
    assert diagnostic.evidence[0] == f"enforced: the argument parser of SGLang {version}"


@pytest.mark.parametrize("word", ["--enable-pcie-oneshot-allreduce", "--moe-runner-backend=b12x"])
def test_what_a_public_fork_has_is_a_note_on_a_fork_and_an_error_on_a_release(word: str) -> None:
    catalogue = history().at(NEWEST)
    errors = [(error, None) for error in parse(["--model-path", "m", word], catalogue, history()).errors]
    for fork, level in ((False, Level.ERROR), (True, Level.NOTE)):
        [diagnostic] = flag_diagnostics(errors, catalogue, history(), fork=fork)
        assert (diagnostic.rule, diagnostic.level) == ("fork-flag", level)
        assert "flags extract" in diagnostic.remedy


def test_a_flag_of_an_older_release_names_what_says_the_same_today() -> None:
    [diagnostic] = told("--enable-deepep-moe")
    assert diagnostic.rule == "foreign-flag"
    assert "--moe-a2a-backend (with the value deepep)" in diagnostic.remedy


def test_a_missing_flag_is_named_as_missing() -> None:
    catalogue = history().at(NEWEST)
    [diagnostic] = flag_diagnostics([(error, None) for error in parse([], catalogue).errors], catalogue, history())
    assert diagnostic.names == ("missing:--model-path",)


def renamings() -> Iterator[tuple[str, str, str]]:
    """(name, version without it, the name to write there): every renaming, both ways, at every version it matters in."""
    for name in sorted(history().flags):
        life = history().life(name)
        for version in history().versions if life and (life.renamed_to or life.renamed_from) else ():
            catalogue = history().at(version)
            if life and not catalogue.flag(name):
                yield from ((name, version, other) for other in history().counterparts(life, catalogue)[:1])


def test_the_other_name_is_told_for_every_renamed_flag_in_both_directions() -> None:
    cases = list(renamings())
    assert len({name for name, _, _ in cases}) > 60
    for name, version, other in cases:
        [diagnostic, *_] = told(f"{name} 1", version)
        assert diagnostic.rule in {"removed-flag", "flag-not-yet"}, (name, version)
        assert other in diagnostic.remedy, (name, version)


def settings(line: str, version: str = NEWEST) -> list[Diagnostic]:
    catalogue = history().at(version)
    parsed = parse(["--model-path", "m", *line.split()], catalogue)
    written = {
        dest: Setting(dest, given.value, given.flag.name, place=place(given.words[0]))
        for dest, given in parsed.given.items()
    }
    return list(setting_diagnostics(Launch(version, written), catalogue))


@pytest.mark.parametrize(
    ("line", "rule", "message"),
    [
        ("--mem-fraction-static 1.5", "value-out-of-range", "cannot be 1.5"),
        ("--tp-size 0", "value-out-of-range", "cannot be 0"),
        ("--port 70000", "value-out-of-range", "cannot be 70000"),
        ("--speculative-algorithm EAGEL", "invalid-choice", "cannot be EAGEL"),
        ("--json-model-override-args {'a':1}", "wrong-type", "cannot be"),
        ("--disable-cuda-graph", "deprecated-flag", "is deprecated"),
        ("--grpc-mode", "deprecated-flag", "is deprecated"),
    ],
)
def test_what_only_the_engine_refuses_is_told_too(line: str, rule: str, message: str) -> None:
    [diagnostic] = settings(line)
    assert diagnostic.rule == rule
    assert message in diagnostic.message
    assert diagnostic.place == place(2)


@pytest.mark.parametrize(
    "line",
    [
        "--speculative-algorithm eagle",
        "--mem-fraction-static 0.6",
        "--chunked-prefill-size -1",
        '--json-model-override-args {"a":1}',
    ],
)
def test_what_the_engine_takes_is_not_told(line: str) -> None:
    assert settings(line) == []
