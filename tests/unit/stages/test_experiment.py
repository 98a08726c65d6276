"""An experiment is criticised before it runs, and its outcomes mean what its table says, or that they settle nothing."""

from pathlib import Path
from typing import Any

import pytest
from house import looked

from dsv4deploy.cli.experiment_files import read
from dsv4deploy.model.experiment import Experiment, Kind, Trial
from dsv4deploy.model.mark import Success
from dsv4deploy.model.rule import Rule
from dsv4deploy.source.rulebook import catalogue
from dsv4deploy.stages.draft import draft_rule
from dsv4deploy.stages.examples import failures
from dsv4deploy.stages.experiment import beside, differences, held, judged, next_arm, objections, outcome_of
from dsv4deploy.stages.marks import Candidate

EXAMPLES = Path(__file__).parents[3] / "examples/compile-vs-kernel"
PROFILE = """
name: flash
engine: {version: 0.5.17, venv: /opt/sglang}
model: {path: /models/x, facts: {model_type: deepseek_v4}}
hardware: {arch: sm_120}
server: {port: 30000}
"""
TOLD = dict.fromkeys(("summary", "why", "remedy", "ref", "date", "saw", "hardware"), "text")
TABLE = [
    {"when": {"off": "ready", "on": "failed"}, "verdict": "compile is at fault", "matters": ["compile.torch_compile"]},
    {"when": {"off": "ready", "on": "ready"}, "verdict": "nothing is at fault"},
]


def experiment(**more: object) -> Experiment:
    arms = {"off": {}, "on": {"control": "off", "changes": {"compile.torch_compile": True}}}
    base = {"name": "x", "question": "q", "profile": "p.yaml", "arms": arms, "decide": TABLE}
    return Experiment.model_validate({**base, **more})


def arms_of(one: Experiment, profile: str | Path = PROFILE) -> dict[str, Candidate]:
    def text(value: object) -> str:
        return str(value).lower() if isinstance(value, bool) else str(value)

    return {
        name: looked(profile, *(f"{path}={text(value)}" for path, value in arm.changes.items())).candidate
        for name, arm in one.arms.items()
    }


def words(one: Experiment, profile: str | Path = PROFILE, rules: dict[str, list[str]] | None = None) -> list[str]:
    return [found.rule for found in objections(one, arms_of(one, profile), rules or {})]


def trial(arm: str, outcome: str, key: str = "k", record: str = "") -> Trial:
    return Trial("x", arm, key, outcome, "here", "now", 1.0, record=record)


KEYS = {"off": "k", "on": "k"}


def test_one_variable_at_a_time_is_fine() -> None:
    assert words(experiment()) == []


def test_two_variables_at_once_are_a_confound_that_is_named() -> None:
    both = {"compile.torch_compile": True, "memory.fraction_static": 0.7}
    one = experiment(arms={"off": {}, "on": {"control": "off", "changes": both}})
    (found,) = objections(one, arms_of(one), {})
    assert found.rule == "confound"
    assert "setting:enable_torch_compile" in found.message
    assert "setting:mem_fraction_static" in found.message


def test_an_arm_that_starts_the_same_is_named() -> None:
    assert words(experiment(arms={"off": {}, "on": {"control": "off"}})) == ["same-as-control"]


def test_a_blamed_variable_that_never_changes_alone_has_no_control() -> None:
    for path, found in (("compile.torch_compile", []), ("kernels.moe_runner", ["no-control"])):
        said = {"it": {"says": "s", "blames": [path]}}
        assert words(experiment(hypotheses=said, decide=[{**TABLE[0], "supports": "it"}])) == found


def test_a_hypothesis_that_no_outcome_would_speak_for_is_named() -> None:
    said = {name: {"says": "s", "blames": ["compile.torch_compile"]} for name in ("it", "other")}
    (found,) = objections(one := experiment(hypotheses=said, decide=[{**TABLE[0], "supports": "it"}]), arms_of(one), {})
    assert (found.rule, "hypothesis other" in found.message) == ("no-row", True)


@pytest.mark.parametrize(("limit_s", "reach", "named"), [(60, None, True), (120, None, False), (60, "load", False)])
def test_a_deadline_that_the_same_configuration_did_not_keep_before_is_named(
    limit_s: int, reach: str | None, named: bool
) -> None:
    one = experiment(deadline_s=limit_s, reach=reach)
    took = Success(key="k", at="2026-11-29T10:00:00Z", node="gpu01", name="flash", seconds=114)
    told = [found.message for found in objections(one, arms_of(one), {}, ready={"off": took})]
    assert told == (["arm off has 60 s, and this very configuration took 114 s to get ready"] if named else [])


def test_two_arms_that_start_the_same_are_named_also_where_neither_is_the_control() -> None:
    same = {"changes": {"parallel.tp": 2}}
    assert words(experiment(arms={"off": {}, "on": same, "again": same})) == ["same-as-another"]
    further = {**same, "reach": "capture"}
    assert words(experiment(arms={"off": {}, "on": same, "again": further})) == []


def test_the_arm_that_speaks_for_a_rule_has_what_matters_and_little_else() -> None:
    arms = {
        "other": {"changes": {"parallel.tp": 2}},
        "much": {"changes": {"engine.version": "0.5.22", "engine.venv": "/v", "parallel.tp": 4}},
        "right": {"changes": {"engine.version": "0.5.22"}},
    }
    one = experiment(arms=arms)
    assert sorted(arms, key=lambda name: beside(one.arms[name], ["engine"])) == ["right", "much", "other"]


def test_an_arm_whose_launch_compiles_nothing_cannot_answer() -> None:
    rule = "torch-compile-without-graphs"
    assert rule in {one.id for one in catalogue()}
    assert words(experiment(), rules={"on": [rule]}) == ["arm-cannot-answer"]


def test_the_first_experiment_shows_its_confounds_and_the_second_has_none() -> None:
    profile = EXAMPLES.parent / "dsv4-flash-nvfp4-tp4/profile.yaml"
    first, second = (read(EXAMPLES / name).experiment for name in ("experiment.yaml", "experiment-2.yaml"))
    assert words(first, profile) == ["confound", "no-control", "no-control", "mechanism-still-there"]
    assert words(second, profile) == []
    assert first.limit_s("kernel-off") == second.limit_s("both-on") == 14 * 30


def test_the_port_of_an_arm_is_no_variable() -> None:
    assert differences(looked(PROFILE).candidate, looked(PROFILE, "server.port=31000").candidate) == ()


@pytest.mark.parametrize(
    ("trials", "kind"),
    [
        ([], Kind.UNFINISHED),
        ([trial("off", "ready")], Kind.UNFINISHED),
        ([trial("off", "ready"), trial("on", "stream-capture")], Kind.DECIDED),
        ([trial("off", "ready"), trial("on", "ready")], Kind.DECIDED),
        ([trial("off", "oom-load"), trial("on", "ready")], Kind.UNDECIDED),
        ([trial("off", "ready"), trial("on", "progressing")], Kind.PROGRESSING),
        ([trial("off", "ready"), *[trial("on", "infrastructure")] * 3], Kind.INFRASTRUCTURE),
        ([trial("off", "ready"), trial("on", "infrastructure")], Kind.UNFINISHED),
        ([trial("off", "ready"), trial("on", "infrastructure"), trial("on", "oom-load")], Kind.DECIDED),
        ([trial("off", "ready"), trial("on", "oom-load", key="another")], Kind.UNFINISHED),
    ],
)
def test_outcomes_mean_what_the_table_says_or_settle_nothing(trials: list[Trial], kind: Kind) -> None:
    assert judged(experiment(), KEYS, trials).kind is kind


def test_an_arm_that_comes_out_both_ways_is_flaky_and_more_repeats_are_next() -> None:
    twice = [trial("off", "ready"), trial("off", "oom-load")]
    found = judged(experiment(repeats=2), KEYS, twice)
    assert found.kind is Kind.FLAKY
    assert "1 of 2 ready, 1 of 2 oom-load" in found.verdict
    assert "--repeats 5" in found.next


def test_arms_run_in_order_until_the_verdict_stands() -> None:
    one = experiment(repeats=2)
    made: list[Trial] = []
    order = []
    while (name := next_arm(one, KEYS, made)) is not None:
        order.append(name)
        made.append(trial(name, "ready" if name == "off" else "oom-load"))
    assert order == ["off", "off", "on", "on"]


def test_the_first_sign_wins() -> None:
    early = experiment(decide=[{"when": {"off": "failed"}, "verdict": "not even without"}, *TABLE])
    assert next_arm(early, KEYS, [trial("off", "oom-load")]) is None


@pytest.mark.parametrize(
    ("answer", "word"),
    [
        ({"state": "ready"}, "ready"),
        ({"state": "progressing"}, "progressing"),
        ({"state": "failed", "class": "stream-capture"}, "stream-capture"),
        ({"state": "failed", "class": None}, "unrecognised"),
        ({"state": "failed", "class": "port-in-use"}, "infrastructure"),
        ({"state": "failed", "class": None, "late": True}, "progressing"),
        ({"state": "hung", "class": "hung"}, "hung"),
    ],
)
def test_a_start_has_one_word(answer: dict[str, object], word: str) -> None:
    assert outcome_of(answer) == word


def test_a_draft_holds_exactly_what_matters_and_its_own_test() -> None:
    profile = PROFILE + "compile: {torch_compile: true}\nenv: {SGLANG_X: 1}\n"
    rule = draft_rule(looked(profile).candidate, ("compile.torch_compile",), TOLD)
    assert rule is not None
    assert rule["when"] == [{"setting": "enable_torch_compile", "is": True}]
    assert rule["scope"] == {"engine": "==0.5.17", "arch": ["sm_120"], "family": ["deepseek-v4"]}
    assert rule["evidence"][0]["grade"] == "reproduced"
    assert failures(Rule.model_validate({**rule, "id": "x", "family": "own"})) == ()
    assert draft_rule(looked(profile).candidate, ("memory.fraction_static",), TOLD) is None


def test_a_draft_is_bound_to_what_no_arm_was_without_where_it_failed() -> None:
    compiled = {"compile.torch_compile": True, "memory.fraction_static": 0.5}
    arms: dict[str, Any] = {
        "off": {},
        "on": {"control": "off", "changes": compiled},
        "mode": {"control": "on", "changes": {**compiled, "memory.fraction_static": 0.6, "env.SGLANG_X": 1}},
        "alone": {"control": "off", "changes": {"env.SGLANG_X": 1}},
    }
    one = experiment(arms=arms)
    assert held(one, "mode", {"mode"}) == ("compile.torch_compile",)
    assert held(one, "mode", {"mode", "alone"}) == ()
    assert held(one, "off", {"off"}) == ()
    profile = PROFILE + "compile: {torch_compile: true}\nenv: {SGLANG_X: 1}\n"
    rule = draft_rule(looked(profile).candidate, ("env.SGLANG_X",), TOLD, held(one, "mode", {"mode"}))
    assert rule is not None
    assert rule["when"] == [{"env": "SGLANG_X", "is": "1"}, {"setting": "enable_torch_compile", "is": True}]
    assert rule["at"] == "env:SGLANG_X"
    assert failures(Rule.model_validate({**rule, "id": "x", "family": "own"})) == ()


def test_what_a_rehearsal_showed_is_inferred() -> None:
    profile = PROFILE.replace("venv: /opt/sglang", "venv: /opt/sglang, rehearsal: true") + "parallel: {tp: 4}\n"
    rule = draft_rule(looked(profile).candidate, ("parallel.tp",), TOLD)
    assert rule is not None
    assert rule["evidence"][0]["grade"] == "inferred"


def test_an_arm_may_have_a_deadline_of_its_own() -> None:
    arms = {"off": {}, "on": {"control": "off", "deadline_s": 900}}
    one = experiment(arms=arms, deadline_s=60)
    assert (one.limit_s("off"), one.limit_s("on")) == (60, 900)


def test_an_arm_on_another_engine_differs_in_one_variable() -> None:
    older = looked(PROFILE, 'engine.version="0.5.16"', "engine.venv=/opt/older").candidate
    assert differences(looked(PROFILE).candidate, older) == ("engine",)
    twin = looked(PROFILE, "engine.venv=/opt/twin").candidate
    assert differences(looked(PROFILE).candidate, twin) == ("engine",)


def test_an_arm_that_runs_elsewhere_now_is_not_handed_out_again() -> None:
    one = experiment(repeats=2)
    assert [next_arm(one, KEYS, [], running) for running in ([], ["off"], ["off", "off"])] == ["off", "off", "on"]
    assert next_arm(one, KEYS, [], ["off", "off", "on", "on"]) is None
    assert next_arm(one, KEYS, [trial("off", "ready")], ["off"]) == "on"


@pytest.mark.parametrize(
    ("word", "wanted", "fits"),
    [
        ("reached", "reached", True),
        ("reached", "failed", False),
        ("check-failed", "check-failed", True),
        ("check-failed", "failed", True),
        ("check-failed", "ready", False),
    ],
)
def test_a_stage_that_was_reached_and_a_check_that_failed_are_outcomes(word: str, wanted: str, fits: bool) -> None:
    one = experiment(decide=[{"when": {"off": wanted}, "verdict": "v"}])
    found = judged(one, KEYS, [trial("off", word), trial("on", "ready")])
    assert found.kind is (Kind.DECIDED if fits else Kind.UNDECIDED)
