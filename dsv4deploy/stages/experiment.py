"""Thinks about an experiment: what confounds it before anything is launched, which arm is next, what the outcomes mean."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from math import ceil

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.document import KeyPath, Merged
from dsv4deploy.model.experiment import (
    ENDS,
    FAILED,
    INFRASTRUCTURAL,
    PROGRESSING,
    READY,
    Arm,
    Decision,
    Experiment,
    Judgement,
    Kind,
    Trial,
)
from dsv4deploy.model.launch import Json
from dsv4deploy.model.mark import Success
from dsv4deploy.stages.marks import INFRASTRUCTURE, Candidate, plain

# What an arm has of its own, so that it can run beside others; it is no variable.
_OWN = {"port", "host", "DSV4_REHEARSAL_SPEED"}
# A rule of the catalogue that says of a launch that it cannot show what it seems to show.
_PROVES_NOTHING = {"torch-compile-without-graphs": "it compiles nothing, and so proves nothing about torch.compile"}
_TRIES_AGAIN = 2

Arms = Mapping[str, Candidate]
Objection = tuple[KeyPath, Diagnostic]


def variables(one: Candidate) -> dict[str, str]:
    """Everything that is written of one launch and that another launch may have otherwise, by subject."""
    found = {f"setting:{s.dest}": _text(s.value) for s in one.launch.settings.values() if s.dest not in _OWN}
    found |= {f"env:{v.name}": v.value for v in one.launch.environment.values() if v.name not in _OWN}
    engine = " ".join(filter(None, (one.launch.version, one.launch.build, one.venv)))
    return {**found, "engine": engine, "patches": _patches(one)}


def differences(one: Candidate, other: Candidate) -> tuple[str, ...]:
    """The subjects in which two launches differ."""
    mine, theirs = variables(one), variables(other)
    return tuple(sorted(name for name in mine.keys() | theirs.keys() if mine.get(name) != theirs.get(name)))


def objections(
    experiment: Experiment,
    arms: Arms,
    rules: Mapping[str, Sequence[str]],
    merged: Merged | None = None,
    ready: Mapping[str, Success] | None = None,
) -> tuple[Diagnostic, ...]:
    """What is wrong with the experiment itself.

    Args:
        experiment: what is to be found out.
        arms: what each arm would start.
        rules: rules of the catalogue that found something in each arm.
        merged: where everything in the experiment's file stands.
        ready: for arms whose very configuration was applied before, when it got ready last.
    """
    found = (
        *_confounds(experiment, arms),
        *_missing_controls(experiment, arms),
        *_mechanisms(experiment),
        *_silent_arms(experiment, rules),
        *_doubles(experiment, arms),
        *_unheard(experiment),
        *_hurried(experiment, ready or {}),
    )
    return tuple(replace(one, place=merged.place(path) if merged else None) for path, one in found)


def _confounds(experiment: Experiment, arms: Arms) -> Iterator[Objection]:
    for name, arm in experiment.arms.items():
        if arm.control is None:
            continue
        found = differences(arms[name], arms[arm.control])
        if len(found) > 1:
            yield (
                ("arms", name),
                Diagnostic(
                    "confound",
                    Level.WARNING,
                    f"arm {name} differs from its control {arm.control} in {len(found)} variables: {', '.join(found)}",
                    names=found[:4],
                    effect="whatever comes out, nobody can say which of them did it",
                    remedy=f"give {name} and {arm.control} the same value of all but one",
                ),
            )
        if not found:
            yield (
                ("arms", name),
                Diagnostic(
                    "same-as-control",
                    Level.WARNING,
                    f"arm {name} starts the same as its control {arm.control}",
                    effect="it repeats the control and answers nothing",
                    remedy="change one variable in it, or drop it and raise `repeats`",
                ),
            )


def _missing_controls(experiment: Experiment, arms: Arms) -> Iterator[Objection]:
    """A path is tested where two arms differ in nothing but what it says."""
    pairs = [(name, arm.control) for name, arm in experiment.arms.items() if arm.control]
    tested = {path for one, other in pairs if other for path in _alone(experiment, one, other, arms)}
    for name, hypothesis in experiment.hypotheses.items():
        for path in hypothesis.blames:
            if path not in tested:
                yield (
                    ("hypotheses", name),
                    Diagnostic(
                        "no-control",
                        Level.WARNING,
                        f"hypothesis {name} blames {path}, and no two arms differ in it alone",
                        names=(f"profile:{path}",),
                        effect="no outcome can speak for this hypothesis, or against it",
                        remedy=f"add an arm that is like another one but for {path}, and name that one as its `control`",
                    ),
                )


def _alone(experiment: Experiment, one: str, other: str, arms: Arms) -> tuple[str, ...]:
    """The path in which two arms differ, where it is the only one and takes effect as one variable."""
    mine, theirs = experiment.arms[one].changes, experiment.arms[other].changes
    paths = tuple(path for path in {*mine, *theirs} if mine.get(path) != theirs.get(path))
    return paths if len(paths) == 1 and len(differences(arms[one], arms[other])) == 1 else ()


def _mechanisms(experiment: Experiment) -> Iterator[Objection]:
    for name, hypothesis in experiment.hypotheses.items():
        working = [arm for arm, has in experiment.arms.items() if hypothesis.mechanism in has.still]
        if hypothesis.mechanism and working:
            yield (
                ("hypotheses", name),
                Diagnostic(
                    "mechanism-still-there",
                    Level.WARNING,
                    f"{hypothesis.mechanism} is at work in arm {', '.join(working)} too, where hypothesis {name} expects none",
                    effect="a failure there does not speak against this hypothesis",
                    remedy=f"add an arm without {hypothesis.mechanism}, or narrow the hypothesis",
                ),
            )


def _silent_arms(experiment: Experiment, rules: Mapping[str, Sequence[str]]) -> Iterator[Objection]:
    for name in experiment.arms:
        for rule in rules.get(name, ()):
            if rule in _PROVES_NOTHING:
                yield (
                    ("arms", name),
                    Diagnostic(
                        "arm-cannot-answer",
                        Level.WARNING,
                        f"arm {name}: {_PROVES_NOTHING[rule]}",
                        effect="its outcome says nothing about the question",
                        evidence=(f"rule {rule}: dsv4deploy explain {rule}",),
                        remedy="switch the decode graphs on in it, or drop it",
                    ),
                )


def _doubles(experiment: Experiment, arms: Arms) -> Iterator[Objection]:
    """Arms that start the same as an earlier one that is not their control, and may come no further or less far."""
    names = list(experiment.arms)
    for index, name in enumerate(names):
        arm = experiment.arms[name]
        alike = (
            other
            for other in names[:index]
            if other != arm.control
            and experiment.arms[other].control != name
            and experiment.goal(other) == experiment.goal(name)
            and not differences(arms[name], arms[other])
        )
        if other := next(alike, None):
            yield (
                ("arms", name),
                Diagnostic(
                    "same-as-another",
                    Level.WARNING,
                    f"arm {name} starts the same as arm {other}",
                    effect="it answers nothing that the other one does not",
                    remedy="change one variable in it, or drop it and raise `repeats`",
                ),
            )


def _unheard(experiment: Experiment) -> Iterator[Objection]:
    """Hypotheses that no row supports; with two of them and rows for one, the experiment can only say yes to it."""
    supported = {row.supports for row in experiment.decide}
    for name in experiment.hypotheses:
        if name not in supported:
            yield (
                ("hypotheses", name),
                Diagnostic(
                    "no-row",
                    Level.WARNING,
                    f"no row of `decide` supports hypothesis {name}",
                    effect="whatever comes out, it is never what was found",
                    remedy=f"add the row whose outcomes would speak for it, with `supports: {name}`",
                ),
            )


def _hurried(experiment: Experiment, ready: Mapping[str, Success]) -> Iterator[Objection]:
    for name, success in ready.items():
        limit, took = experiment.limit_s(name), success.seconds or 0.0
        if limit and limit < took and not experiment.goal(name):
            yield (
                ("arms", name),
                Diagnostic(
                    "deadline-too-short",
                    Level.WARNING,
                    f"arm {name} has {limit:g} s, and this very configuration took {took:g} s to get ready",
                    effect="it is still progressing at its deadline, which settles nothing",
                    evidence=(f"{success.name} on {success.node}, {success.at}",),
                    remedy=f"give it more: deadline_s: {2 * ceil(took)}",
                ),
            )


def outcome_of(answer: Mapping[str, object]) -> str:
    """What the judge said of a start, in one word; a failure of the place is none of the configuration."""
    state, kind = answer.get("state"), answer.get("class")
    if state == READY or (state == PROGRESSING and not answer.get("late")):
        return str(state)
    if kind in INFRASTRUCTURE:
        return INFRASTRUCTURAL
    return PROGRESSING if answer.get("late") and not kind else str(kind or "unrecognised")


def next_arm(
    experiment: Experiment, keys: Mapping[str, str], trials: Sequence[Trial], running: Sequence[str] = ()
) -> str | None:
    """The arm to launch next; None where the verdict stands, or nothing is left to do.

    `running` are the arms that are being launched on other nodes now, as often as they are.
    """
    if judged(experiment, keys, trials).kind is not Kind.UNFINISHED:
        return None
    return next(
        (name for name in experiment.arms if not _done(experiment, _of(name, keys, trials), running.count(name))), None
    )


def judged(experiment: Experiment, keys: Mapping[str, str], trials: Sequence[Trial]) -> Judgement:
    """What the trials mean; `keys` says what each arm starts now, and trials of anything else do not count."""
    by_arm = {name: _of(name, keys, trials) for name in experiment.arms}
    counted = tuple(trial for made in by_arm.values() for trial in made)
    complete = {name: _word(made) for name, made in by_arm.items() if _done(experiment, made)}
    flaky = [name for name, word in complete.items() if word == Kind.FLAKY]
    if flaky:
        said = f"arm {flaky[0]} is flaky: {_tally(by_arm[flaky[0]])}"
        return Judgement(
            Kind.FLAKY, said, counted, next=f"launch it more often: --repeats {2 * experiment.repeats + 1}"
        )
    for decision in experiment.decide:
        if decision.when.keys() <= complete.keys() and _fits(decision, complete):
            return Judgement(Kind.DECIDED, decision.verdict, counted, decision)
    if len(complete) < len(experiment.arms):
        return Judgement(Kind.UNFINISHED, f"{len(complete)} of {len(experiment.arms)} arms are done", counted)
    return _unsettled(experiment, complete, counted)


def beside(arm: Arm, matters: Sequence[str]) -> tuple[int, int]:
    """How many of the paths that matter an arm leaves as they are, and how many changes it has; the least speaks best."""
    left = [path for path in matters if not any(covers(path, change) for change in arm.changes)]
    return len(left), len(arm.changes)


def held(experiment: Experiment, name: str, failed: Iterable[str]) -> tuple[str, ...]:
    """The changes of an arm that its control and every arm that failed have alike: without them nothing was shown."""
    arm = experiment.arms[name]
    others = [experiment.arms[one].changes for one in (arm.control, *failed) if one]
    return tuple(
        path
        for path, value in arm.changes.items()
        if arm.control and all(path in other and other[path] == value for other in others)
    )


def covers(above: str, path: str) -> bool:
    """Whether `path` is `above`, or lies below it."""
    return path == above or path.startswith((f"{above}.", f"{above}["))


def _unsettled(experiment: Experiment, complete: Mapping[str, str], counted: tuple[Trial, ...]) -> Judgement:
    for name, word in complete.items():
        if word == INFRASTRUCTURAL:
            said = f"arm {name} failed because of the place, not of what was started"
            return Judgement(Kind.INFRASTRUCTURE, said, counted, next="mend that and run again; what is done counts")
        if word == PROGRESSING:
            said = f"arm {name} was still progressing at its deadline: late is not failed"
            given = experiment.limit_s(name)
            limit = f"{given:g} s" if given else "what the profile gives"
            return Judgement(Kind.PROGRESSING, said, counted, next=f"give it more than {limit}: deadline_s")
    came = ", ".join(f"{name} {word}" for name, word in complete.items())
    return Judgement(
        Kind.UNDECIDED, f"no row of `decide` covers {came}", counted, next="add the row that they call for"
    )


def _of(name: str, keys: Mapping[str, str], trials: Sequence[Trial]) -> list[Trial]:
    return [trial for trial in trials if trial.arm == name and trial.key == keys.get(name)]


def _done(experiment: Experiment, made: Sequence[Trial], running: int = 0) -> bool:
    told = [trial for trial in made if trial.outcome != INFRASTRUCTURAL]
    return len(told) + running >= experiment.repeats or len(made) + running >= experiment.repeats + _TRIES_AGAIN


def _word(made: Sequence[Trial]) -> str:
    """One word for all launches of an arm."""
    words = {trial.outcome for trial in made} - {INFRASTRUCTURAL} or {INFRASTRUCTURAL}
    return words.pop() if len(words) == 1 else str(Kind.FLAKY)


def _fits(decision: Decision, complete: Mapping[str, str]) -> bool:
    return all(_means(complete[name], wanted) for name, wanted in decision.when.items())


def _means(word: str, wanted: str) -> bool:
    return word == wanted or (wanted == FAILED and word not in {*ENDS, Kind.FLAKY})


def _tally(made: Sequence[Trial]) -> str:
    words = [trial.outcome for trial in made]
    return ", ".join(f"{words.count(word)} of {len(words)} {word}" for word in dict.fromkeys(words))


def _text(value: Json) -> str:
    return value if isinstance(value, str) else json.dumps(plain(value))


def _patches(one: Candidate) -> str:
    return ",".join(sorted(patch.digest for patch in one.patches))
