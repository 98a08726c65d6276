"""Runs experiments: looks at every arm, launches what is left to do, and writes down what it meant."""

import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from dsv4deploy.cli import arms, house
from dsv4deploy.cli.arms import Ground
from dsv4deploy.flow import Looked
from dsv4deploy.model.experiment import Experiment, Judgement, Kind, Trial
from dsv4deploy.model.rule import Rule
from dsv4deploy.model.trouble import Exit
from dsv4deploy.rim import marks, trials
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import validate
from dsv4deploy.stages import experiment as stage
from dsv4deploy.stages.draft import draft_rule
from dsv4deploy.stages.marks import mark_of, worth_a_mark
from dsv4deploy.stages.resolve import resolve
from dsv4deploy.views import experiment as view

_NAME_LENGTH = 40


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    path: Path
    where: arms.Where
    again: bool = False
    repeats: int = 0
    only_check: bool = False


@dataclass(frozen=True, slots=True)
class Course:
    """One experiment on one ground, with what each arm starts there."""

    experiment: Experiment
    project: Path
    ground: Ground
    looked: Mapping[str, Looked]
    base: Looked

    @property
    def keys(self) -> dict[str, str]:
        """What each arm starts, by arm."""
        return {name: arms.key(one) for name, one in self.looked.items()}


def read(path: Path, repeats: int = 0) -> Experiment:
    """The experiment in a file.

    Raises:
        Refused: it has not the shape of one.
        Trouble: it cannot be read.
    """
    found = validate(resolve([load(Files().read(str(path)), str(path))]), Experiment, "experiment")
    return found.model_copy(update={"repeats": repeats}) if repeats else found


def run(asked: Asked, *, as_json: bool) -> int:
    """Run what is asked for, print the verdict, and return the exit code."""
    course = _course(asked)
    found = {name: [d.rule for d in one.report.diagnostics] for name, one in course.looked.items()}
    candidates = {name: one.candidate for name, one in course.looked.items()}
    objections = stage.objections(course.experiment, candidates, found)
    differ = {
        name: ", ".join(stage.differences(candidates[name], candidates[arm.control])) or "nothing"
        for name, arm in course.experiment.arms.items()
        if arm.control
    }
    out = sys.stderr if as_json else sys.stdout
    out.write(view.opening(course.experiment, course.ground.told, objections, differ))
    if asked.only_check:
        return Exit.FOUND if objections else Exit.FINE
    with arms.interruptible():
        judgement, answers = _carried_out(course, asked, out.write)
    kept = _kept(course, judgement, answers)
    if as_json:
        print(json.dumps(_machine(course.experiment, judgement, kept), indent=2))
    else:
        out.write(view.closing(judgement, kept))
    return Exit.FINE if judgement.kind is Kind.DECIDED else Exit.FOUND


def _course(asked: Asked) -> Course:
    experiment = read(asked.path, asked.repeats)
    project = asked.path.parent
    profile = str(project / experiment.profile)
    knowledge = house.knowledge(Path(profile))
    base = arms.looked_with(knowledge, profile, (), ())
    ground = arms.ground(asked.where, only_look=asked.only_check)(project, base)
    port = [f"server.port={experiment.port}"] if experiment.port else []
    looked = {}
    for name, arm in experiment.arms.items():
        changes = [f"{path}={json.dumps(value)}" for path, value in arm.changes.items()]
        own = [f"name={_name(experiment.name, name)}"]
        looked[name] = arms.looked_with(knowledge, profile, arm.variants, (*ground.sets, *port, *own, *changes))
    return Course(experiment, project, ground, looked, base)


def _carried_out(course: Course, asked: Asked, say: arms.Tell) -> tuple[Judgement, dict[str, arms.Started]]:
    """Launch arms until the verdict stands; what the judge said of each of them last."""
    experiment, keys = course.experiment, course.keys
    made = () if asked.again else trials.kept(course.project, experiment.name)
    for one in stage.judged(experiment, keys, made).trials:
        say(view.trial(one, again=True))
    answers: dict[str, arms.Started] = {}
    if stage.next_arm(experiment, keys, made) is None:
        return stage.judged(experiment, keys, made), answers
    leave = experiment.running == "leave"
    with arms.aside(course.ground.node, course.base.profile.name, course.project, leave=leave):
        while (name := stage.next_arm(experiment, keys, made)) is not None:
            say(f"{name}: starting\n")
            answers[name] = arms.started(
                course.ground.node, course.looked[name], experiment.limit_s(name), lambda line: say(f"  {line}\n")
            )
            made = (*made, _trial(course, name, keys[name], answers[name]))
            say(view.trial(made[-1]))
    return stage.judged(experiment, keys, made), answers


def _trial(course: Course, name: str, key: str, started: arms.Started) -> Trial:
    answer, looked = started.answer, course.looked[name]
    one = Trial(
        experiment=course.experiment.name,
        arm=name,
        key=key,
        outcome=stage.outcome_of(answer),
        node=course.ground.node.name,
        at=trials.now(),
        seconds=started.seconds,
        stage=str(answer.get("stage") or ""),
        root=str(answer.get("root") or ""),
        rehearsal=looked.profile.engine.rehearsal,
    )
    more = {"argv": [w for s in looked.launch.settings.values() for w in s.words], "lines": answer.get("lines") or []}
    return trials.keep(course.project, one, more)


def _kept(course: Course, judgement: Judgement, answers: Mapping[str, arms.Started]) -> list[str]:
    """Write the marks and the draft rule of a decided experiment; a line for each."""
    if judgement.kind is not Kind.DECIDED:
        return []
    told = []
    for name, started in answers.items():
        looked = course.looked[name]
        if worth_a_mark(started.answer):
            node, at = course.ground.node.name, trials.now()
            base = course.base.profile.name
            mark = mark_of(looked.candidate, started.answer, looked.report, name=base, node=node, at=at)
            path, _ = marks.keep(mark, course.project)
            told.append(f"marked known-bad: {path}{' (a rehearsal: not for git)' if mark.core.rehearsal else ''}")
    drafted = _drafted(course, judgement)
    return [*told, drafted] if drafted else told


def _drafted(course: Course, judgement: Judgement) -> str:
    decision = judgement.decision
    failed = [one for one in judgement.trials if one.outcome not in {"ready", "progressing", "infrastructure"}]
    if decision is None or not decision.matters or not failed:
        return ""
    # The arm that has all that matters and least besides.
    name = min(failed, key=lambda one: len(course.experiment.arms[one.arm].changes)).arm
    saw = "; ".join(f"{one.arm}: {one.outcome}" for one in judgement.trials)
    rule = draft_rule(
        course.looked[name].candidate,
        decision.matters,
        {
            "summary": f"{' with '.join(decision.matters)}: {decision.verdict}"[:200],
            "why": f"The start ends with: {failed[0].root or failed[0].outcome}"[:300],
            "remedy": decision.remedy or f"Change {decision.matters[0]}.",
            "ref": failed[0].record,
            "date": trials.now()[:10],
            "hardware": "a rehearsal" if failed[0].rehearsal else failed[0].node,
            "saw": saw,
        },
    )
    if rule is None:
        return ""
    Rule.model_validate({**rule, "id": course.experiment.name, "family": "own"})
    head = [f"A draft from {course.experiment.name}; move it to rules/ when you agree."]
    head += ["It comes from a rehearsal, and says nothing about hardware."] if failed[0].rehearsal else []
    return f"draft rule: {trials.draft(course.project, course.experiment.name, rule, head)}"


def _machine(experiment: Experiment, judgement: Judgement, kept: list[str]) -> dict[str, object]:
    return {
        "schema": "experiment/1",
        "experiment": experiment.name,
        "kind": judgement.kind,
        "verdict": judgement.verdict,
        "decision": judgement.decision.model_dump(mode="json") if judgement.decision else None,
        "trials": [asdict(one) for one in judgement.trials],
        "next": judgement.next,
        "kept": kept,
    }


def _name(experiment: str, arm: str) -> str:
    """The deployment of an arm: its own, so that it meets no other's."""
    return f"{experiment}-{arm}"[-_NAME_LENGTH:].strip("-")
