"""A report is for somebody who was not there: every number stands in a record, and what nobody knows is said."""

import re
from dataclasses import replace
from pathlib import Path

from house import looked
from recorded import SIGNATURES, log

from dsv4deploy.cli.experiment_files import Written, read
from dsv4deploy.flow import Looked
from dsv4deploy.model.campaign import ArmTold, Campaign, Conclusion, Made
from dsv4deploy.model.experiment import Experiment, Trial
from dsv4deploy.model.mark import Condition, Core, Host
from dsv4deploy.node.triage import triage_text
from dsv4deploy.stages.experiment import differences, judged, outcome_of, variables
from dsv4deploy.stages.trial import Start, surroundings, trial_of
from dsv4deploy.views.report import report

ROOT = Path(__file__).parents[3]
EVIDENCE = ROOT / "docs/evidence/torch-compile-dsv4-report.md"
NOTE = """\
<!-- Made by `dsv4deploy report` from the kept logs of these starts; tests/unit/views/test_report.py makes it anew. -->

"""
LOGS = {
    "plain": ("dsv4-base",),
    "compiled": ("dsv4-tc", "dsv4-tc-r2"),
    "compiled-default": ("dsv4-tc-default",),
    "one-stream": ("dsv4-single-stream-base",),
    "one-stream-compiled-default": ("dsv4-single-stream-tc-default",),
}
HOST = {"torch": "2.11.0+cu130", "triton": "3.6.0", "cuda": "13.0"}


def evidence() -> Campaign:
    """The experiment of examples/compile-vs-kernel/streams.yaml, as its logs have it."""
    written = read(ROOT / "examples/compile-vs-kernel/streams.yaml")
    experiment = written.experiment
    arms = {name: _arm(written, name) for name in experiment.arms}
    found = []
    for arm, one in arms.items():
        for name in LOGS[arm]:
            text = log(f"h200-logs/{name}.log").decode(errors="replace")
            stamps = re.findall(r"^\[(\d{4}-\d\d-\d\d) (\d\d:\d\d:\d\d)", text, re.MULTILINE)
            answer = triage_text(text, SIGNATURES)
            start = Start(experiment.name, arm, arm, "one H200", f"{stamps[-1][0]}T{stamps[-1][1]}Z")
            trial = trial_of(one.candidate, start, answer, outcome_of(answer), _seconds(stamps[0][1], stamps[-1][1]))
            found.append(_made(replace(trial, record=f"tests/samples/h200-logs/{name}.log"), one, answer))
    found.sort(key=lambda made: made.trial.at)
    made = tuple(found)
    return Campaign("compile-vs-streams", made, (_concluded(experiment, arms, made),))


def _arm(written: Written, name: str) -> Looked:
    changes = written.experiment.arms[name].changes
    sets = [f"{path}={str(value).lower()}" for path, value in changes.items()]
    one = looked(Path(written.profile), *sets)
    return replace(one, facts=one.facts.model_copy(update=HOST))


def _made(trial: Trial, one: Looked, answer: dict[str, object]) -> Made:
    beside = surroundings(one.candidate, answer)
    core, host = Core.model_validate(beside["stack"]["core"]), Host.model_validate(beside["stack"]["host"])
    return Made(trial, core, host, Condition.model_validate(beside["condition"]))


def _concluded(experiment: Experiment, arms: dict[str, Looked], made: tuple[Made, ...]) -> Conclusion:
    judgement = judged(experiment, {name: name for name in arms}, [one.trial for one in made])
    decision = judgement.decision
    assert decision is not None
    told = {}
    for name, arm in experiment.arms.items():
        mine, control = arms[name].candidate, arms[arm.control].candidate if arm.control else None
        subjects = differences(mine, control) if control else ()
        values = [f"{one.partition(':')[2]} = {variables(mine).get(one)}" for one in subjects]
        told[name] = ArmTold(control=arm.control, differs=", ".join(values))
    return Conclusion(
        name=experiment.name,
        question=experiment.question,
        at=made[-1].trial.at,
        hypotheses={name: one.says for name, one in experiment.hypotheses.items()},
        arms=told,
        kind=judgement.kind,
        verdict=judgement.verdict,
        supports=decision.supports,
        matters=decision.matters,
        remedy=decision.remedy,
        trials=tuple(one.trial.record for one in made),
    )


def _seconds(first: str, last: str) -> float:
    begin, end = (
        sum(int(part) * unit for part, unit in zip(at.split(":"), (3600, 60, 1), strict=True)) for at in (first, last)
    )
    return float(end - begin)


def test_the_report_of_the_evidence_is_what_its_logs_say() -> None:
    assert NOTE + report(evidence(), "0.1.0") == EVIDENCE.read_text(encoding="utf-8")


def test_what_is_not_settled_is_said_to_be_open() -> None:
    campaign = evidence()
    (concluded,) = campaign.conclusions
    open_one = concluded.model_copy(update={"kind": "flaky", "verdict": "arm x is flaky", "next": "--repeats 5"})
    text = report(replace(campaign, conclusions=(open_one,)), "0.1.0")
    assert "**No verdict (flaky): Arm x is flaky.**" in text
    assert "- `compile-vs-streams` is flaky: arm x is flaky. Next: --repeats 5." in text
    assert "trials and no verdict" in report(replace(campaign, conclusions=()), "0.1.0")


def test_each_stack_has_its_column_and_what_was_not_tried_there_is_open() -> None:
    campaign = evidence()
    first, *others = campaign.made
    elsewhere = replace(first, host=Host(torch="2.12"))
    text = report(replace(campaign, made=(*others, elsewhere)), "0.1.0")
    assert "| stack A | stack B |" in text
    assert "not tried" in text
    assert "- Whether enable_torch_compile = true, SGLANG_TORCH_COMPILE_MODE = default fails on stack B too." in text


def test_a_bar_in_a_cell_breaks_no_table() -> None:
    campaign = evidence()
    piped = replace(campaign.made[0], trial=replace(campaign.made[0].trial, arm="a|b"))
    assert r"compile-vs-streams: a\|b" in report(replace(campaign, made=(piped,)), "0.1.0")
