"""Runs experiments: looks at every arm, launches what is left to do, and writes down what it meant."""

import json
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

from dsv4deploy.cli import arms, drafting, house, launching, side_by_side
from dsv4deploy.cli.arms import Over, Survey
from dsv4deploy.cli.drafting import Shown
from dsv4deploy.cli.experiment_files import Written, arms_of, read
from dsv4deploy.cli.launching import Goal, Node, Started
from dsv4deploy.flow import Looked
from dsv4deploy.model.campaign import ArmTold, Conclusion
from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.experiment import ENDS, Experiment, Judgement, Kind, Trial
from dsv4deploy.model.trouble import Exit
from dsv4deploy.rim import marks, trials
from dsv4deploy.stages import experiment as stage
from dsv4deploy.stages.marks import Candidate, last_success
from dsv4deploy.stages.trial import Start, surroundings, trial_of
from dsv4deploy.views import experiment as view


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    path: Path
    where: arms.Where
    again: bool = False
    repeats: int = 0


@dataclass(frozen=True, slots=True)
class Course:
    """One experiment with what each arm starts on the chosen nodes."""

    written: Written
    survey: Survey
    looked: Mapping[str, Looked]
    base: str

    @property
    def experiment(self) -> Experiment:
        """What is to be found out."""
        return self.written.experiment

    @property
    def project(self) -> Path:
        """Where trials, verdict and draft go."""
        return self.written.project

    def goal(self, arm: str) -> Goal:
        """What an arm must come to."""
        return Goal(self.experiment.limit_s(arm), self.experiment.goal(arm), tuple(self.experiment.checks))

    @property
    def keys(self) -> dict[str, str]:
        """What each arm starts, by arm."""
        return {name: launching.key(one, self.goal(name)) for name, one in self.looked.items()}

    @property
    def objections(self) -> tuple[Diagnostic, ...]:
        """What is wrong with the experiment itself."""
        found = {name: [d.rule for d in one.report.diagnostics] for name, one in self.looked.items()}
        before = [one for one in marks.successes(Path(self.written.profile).parent) if one.seconds]
        ready = {name: last for name, one in self._candidates.items() if (last := last_success(one, before))}
        return stage.objections(self.experiment, self._candidates, found, self.written.merged, ready)

    @property
    def differ(self) -> dict[str, str]:
        """In what each arm differs from its control, by arm."""
        return {
            name: ", ".join(stage.differences(self._candidates[name], self._candidates[arm.control])) or "nothing"
            for name, arm in self.experiment.arms.items()
            if arm.control
        }

    def changed(self, arm: str) -> Iterator[str]:
        """What an arm has otherwise than its control, with the value that it has."""
        control = self.experiment.arms[arm].control
        if control:
            mine = stage.variables(self._candidates[arm])
            for subject in stage.differences(self._candidates[arm], self._candidates[control]):
                name = subject.partition(":")[2] or subject
                yield f"{name} = {mine[subject]}" if subject in mine else f"no {name}"

    @property
    def _candidates(self) -> dict[str, Candidate]:
        return {name: one.candidate for name, one in self.looked.items()}


@dataclass(slots=True)
class Findings:
    """The trials so far."""

    trials: tuple[Trial, ...]


def run(asked: Asked, *, as_json: bool) -> int:
    """Run what is asked for, print the verdict, and return the exit code."""
    try:
        course = _course(asked)
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    out = sys.stderr if as_json else sys.stdout
    say = launching.aloud(out)
    say(view.opening(course.experiment, course.survey.told, course.objections, course.differ))
    if asked.where.only_look:
        return Exit.FOUND if course.objections else Exit.FINE
    with launching.interruptible():
        judgement = _carried_out(course, asked, say)
    kept = _kept(course, judgement)
    trials.conclude(course.project, _conclusion(course, judgement, kept))
    if as_json:
        print(json.dumps(_machine(course.experiment, judgement, kept), indent=2))
    else:
        say(view.closing(judgement, kept))
    return Exit.FINE if judgement.kind is Kind.DECIDED else Exit.FOUND


def _course(asked: Asked) -> Course:
    written = read(asked.path, asked.repeats)
    knowledge = house.knowledge(Path(written.profile))
    arms_of(written, knowledge)  # what is wrong is told before anything is asked of a node
    plain = arms.looked_with(knowledge, written.profile, Over())
    ground = arms.ground(asked.where, written.project)
    sets, port = ground.over(plain), written.experiment.port
    # On the port of the arms, so that it is seen what is in their way.
    moved = arms.looked_with(knowledge, written.profile, Over(sets=[f"server.port={port}"])) if port else plain
    survey = ground.survey(moved)
    looked = arms_of(written, knowledge, sets, survey.facts)
    return Course(written, survey, looked, plain.profile.name)


def _carried_out(course: Course, asked: Asked, say: launching.Tell) -> Judgement:
    """Launch arms until the verdict stands."""
    experiment, keys = course.experiment, course.keys
    found = Findings(() if asked.again else tuple(_made_before(course, say)))
    for one in stage.judged(experiment, keys, found.trials).trials:
        say(view.trial(one, again=True))
    if stage.next_arm(experiment, keys, found.trials) is not None:
        with ExitStack() as stack:
            for node in course.survey.nodes:
                leave = experiment.running == "leave"
                own = [one.profile.name for one in course.looked.values()]
                launching.swept(node, course.survey.left(node.name, own))
                stack.enter_context(launching.aside(node, course.base, course.project, leave=leave))
            side_by_side.launched(course.survey.nodes, _hands(course, found, say))
    return stage.judged(experiment, keys, found.trials)


def _made_before(course: Course, say: launching.Tell) -> Iterator[Trial]:
    """The trials of earlier runs that count, and a line for those that do not."""
    keys, others = course.keys, 0
    for one in trials.kept(course.project, course.experiment.name):
        if keys.get(one.arm) != one.key:
            others += 1
        elif launching.counts(one, course.looked[one.arm], course.goal(one.arm)):
            yield one
    if others:
        say(f"{others} earlier trials started something else than these arms, and do not count\n")


def _hands(course: Course, found: Findings, say: launching.Tell) -> side_by_side.Hands:
    keys, several = course.keys, len(course.survey.nodes) > 1

    def launch(node: Node, arm: str, stopping: threading.Event) -> Started:
        about = f"{node.name}  {arm}" if several else arm
        say(f"{about}: starting\n")
        tell = (lambda line: say(f"  {about}  {line}\n")) if several else (lambda line: say(f"  {line}\n"))
        return launching.started(node, course.looked[arm], course.goal(arm), tell, stopping)

    def done(node: Node, arm: str, started: Started) -> None:
        trial = _recorded(course, Start(course.experiment.name, arm, keys[arm], node.name, trials.now()), started)
        found.trials = (*found.trials, trial)
        say(view.trial(trial))

    return side_by_side.Hands(
        lambda running: stage.next_arm(course.experiment, keys, found.trials, running), launch, done
    )


def _recorded(course: Course, start: Start, started: Started) -> Trial:
    candidate = course.looked[start.arm].candidate
    trial = trial_of(candidate, start, started.answer, started.outcome, started.seconds)
    return trials.keep(course.project, trial, surroundings(candidate, started.answer))


def _kept(course: Course, judgement: Judgement) -> list[str]:
    """Write the marks and the draft rule of a decided experiment; a line for each."""
    if judgement.kind is not Kind.DECIDED:
        return []
    last, beside = {trial.arm: trial for trial in judgement.trials}, Path(course.written.profile).parent
    told = [
        line
        for arm, trial in last.items()
        for line in drafting.marked(
            beside, course.looked[arm], trials.answer(course.project, trial), course.base, trial
        )
    ]
    return [*told, *_drafted(course, judgement)]


def _drafted(course: Course, judgement: Judgement) -> list[str]:
    decision = judgement.decision
    failed = [one for one in judgement.trials if one.outcome not in ENDS]
    if decision is None or not decision.matters or not failed:
        return []
    speaks = min(failed, key=lambda one: stage.beside(course.experiment.arms[one.arm], decision.matters))
    says = f"{' with '.join(decision.matters)}: {decision.verdict}"
    saw = "; ".join(f"{one.arm}: {one.outcome}" for one in judgement.trials)
    held = stage.held(course.experiment, speaks.arm, {one.arm for one in failed})
    shown = Shown(course.experiment.name, decision.matters, says, decision.remedy or "", saw, held)
    return drafting.drafted(course.project, course.looked[speaks.arm], shown, speaks)


def _conclusion(course: Course, judgement: Judgement, kept: list[str]) -> Conclusion:
    experiment, decision = course.experiment, judgement.decision
    return Conclusion(
        name=experiment.name,
        question=experiment.question,
        at=trials.now(),
        hypotheses={name: one.says for name, one in experiment.hypotheses.items()},
        arms={
            name: ArmTold(control=arm.control, differs=", ".join(course.changed(name)))
            for name, arm in experiment.arms.items()
        },
        objections=tuple(one.message for one in course.objections),
        kind=judgement.kind,
        verdict=judgement.verdict,
        supports=decision.supports if decision else None,
        matters=decision.matters if decision else (),
        remedy=decision.remedy if decision else None,
        next=judgement.next,
        trials=tuple(one.record for one in judgement.trials),
        kept=tuple(kept),
    )


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
