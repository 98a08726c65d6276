"""Runs a bisection: launches the mixes that tell most until the smallest set of settings at fault is known."""

import hashlib
import json
import sys
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dsv4deploy.cli import arms, house
from dsv4deploy.flow import Knowledge, Looked, merged_profile
from dsv4deploy.model.diagnostic import Refused
from dsv4deploy.model.experiment import Trial
from dsv4deploy.model.rule import Rule
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import marks, trials
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages import bisect, experiment
from dsv4deploy.stages.bisect import Culprit, Mix, Outcome, Question, next_step
from dsv4deploy.stages.draft import draft_rule
from dsv4deploy.stages.marks import mark_of, worth_a_mark
from dsv4deploy.stages.settings_between import likely, refused_by_engine, settings_between

_MINUTE_S = 60
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    good: Path
    bad: Path
    ground: Callable[[Path, Looked], arms.Ground]
    spurious: float = 0.0
    missed: float = 0.0
    limit_s: float | None = None
    check: str = ""


@dataclass
class Search:
    """Two profiles, what differs between them, and every mix that was looked at or launched."""

    asked: Asked
    knowledge: Knowledge
    say: Say
    made: dict[Mix, list[Trial]] = field(default_factory=dict)
    looked: dict[Mix, Looked | None] = field(default_factory=dict)
    answers: dict[Mix, arms.Answer] = field(default_factory=dict)

    @cached_property
    def settings(self) -> Mapping[str, str]:
        """What differs: profile path to `--set` text."""
        texts = Files()
        good, bad = (merged_profile(texts, str(path)) for path in (self.asked.good, self.asked.bad))
        return settings_between(good, bad)

    @cached_property
    def name(self) -> str:
        """The name under which its trials are kept: that of what is compared."""
        parts = [str(self.asked.good.name), *self.settings.values(), self.asked.check]
        return f"bisect-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"

    @property
    def project(self) -> Path:
        """Where trials, marks and drafts go."""
        return self.asked.bad.parent

    def words(self, mix: Mix) -> str:
        """A mix as a person reads it."""
        return "bad side" if mix == frozenset(self.settings) else ", ".join(sorted(mix)) or "good side"

    def look(self, mix: Mix) -> Looked | None:
        """The good profile with the bad values of `mix`, ready to be launched; None where that makes no sense."""
        if mix not in self.looked:
            self.looked[mix] = self._look(mix)
        return self.looked[mix]

    def launchable(self, mix: Mix) -> bool:
        """Whether the engine would take such a launch at all, by its own rules."""
        looked = self.look(mix)
        return looked is not None and not refused_by_engine(looked.report.diagnostics)

    def _look(self, mix: Mix) -> Looked | None:
        sets = [text for name, text in self.settings.items() if name in mix]
        good = str(self.asked.good)
        try:
            plain = arms.looked_with(self.knowledge, good, (), sets)
            ground = self.asked.ground(self.project, plain)
            return arms.looked_with(self.knowledge, good, (), (*sets, *ground.sets, f"name={self.name}"))
        except Refused:
            return None

    def launch(self, mix: Mix) -> Trial:
        """Launch a mix, or take the next trial of it that was made before."""
        looked = self.look(mix)
        if looked is None:
            raise Trouble(f"{'good' if not mix else 'bad'} profile cannot be launched", "dsv4deploy validate it first")
        key, done = arms.key(looked), self.made.setdefault(mix, [])
        before = [one for one in trials.kept(self.project, self.name) if one.key == key]
        if len(before) > len(done):
            done.append(before[len(done)])
            self.say(f"{self.words(mix)}: {done[-1].outcome} (done before, {done[-1].record})\n")
            return done[-1]
        node = self.asked.ground(self.project, looked).node
        began = arms.started(node, looked, self.asked.limit_s, lambda _: None, self.asked.check)
        self.answers[mix] = began.answer
        one = Trial(
            experiment=self.name,
            arm=self.words(mix),
            key=key,
            outcome=experiment.outcome_of(began.answer) if began.passed else "check-failed",
            node=node.name,
            at=trials.now(),
            seconds=began.seconds,
            stage=str(began.answer.get("stage") or ""),
            root=str(began.answer.get("root") or ""),
            rehearsal=looked.profile.engine.rehearsal,
        )
        done.append(trials.keep(self.project, one, {"mix": sorted(mix), "lines": began.answer.get("lines") or []}))
        self.say(f"{self.words(mix)}: {one.outcome} after {one.seconds:g} s ({done[-1].record})\n")
        return done[-1]


def run(asked: Asked, *, as_json: bool) -> int:
    """Find the culprit, print it, and return the exit code."""
    out = sys.stderr if as_json else sys.stdout
    search = Search(asked, house.knowledge(asked.bad), out.write)
    whole = frozenset(search.settings)
    if not whole:
        raise Trouble("the two profiles do not differ in anything that could matter", code=Exit.USAGE)
    out.write(f"{len(whole)} settings differ: {', '.join(search.settings)}\n")
    with arms.interruptible(), _room_for(search, whole):
        wanted = _controls(search, whole)
        culprit, seen = _searched(search, whole, wanted)
    launches = sum(map(len, search.made.values()))
    kept = _kept(search, culprit)
    if as_json:
        told = {"culprit": culprit.settings, "among": culprit.among, "doubt": culprit.doubt, "launches": launches}
        trial_list = [{"mix": sorted(one.mix), "outcome": one.outcome} for one in seen]
        print(
            json.dumps({"schema": "bisect/1", **told, "failure": wanted, "trials": trial_list, "kept": kept}, indent=2)
        )
    else:
        out.write(_told(search, culprit, wanted, launches, kept))
    return Exit.FINE if not culprit.among else Exit.FOUND


def _room_for(search: Search, whole: Mix) -> AbstractContextManager[None]:
    """The service that the profiles describe, out of the way for as long as the search takes."""
    name = merged_profile(Files(), str(search.asked.good)).tree
    looked = search.look(frozenset()) or search.look(whole)
    if looked is None or not isinstance(name, dict):
        raise Trouble("neither profile can be launched", "dsv4deploy validate them first")
    node = search.asked.ground(search.project, looked).node
    return arms.aside(node, str(name.get("name")), search.project, leave=False)


def _controls(search: Search, whole: Mix) -> str:
    """Launch both sides; the failure that is searched.

    Raises:
        Trouble: the good side fails, or the bad one does not.
    """
    good = search.launch(frozenset())
    if good.outcome != experiment.READY:
        raise Trouble(
            f"the good side is not good: {good.outcome} ({good.record})", "give a profile that starts", Exit.FOUND
        )
    bad = search.launch(whole)
    if bad.outcome in {experiment.READY, experiment.PROGRESSING, experiment.INFRASTRUCTURAL}:
        remedy = "launch it again; a failure that comes and goes needs --missed"
        raise Trouble(f"the bad side does not fail: {bad.outcome} ({bad.record})", remedy, Exit.FOUND)
    return bad.outcome


def _searched(search: Search, whole: Mix, wanted: str) -> tuple[Culprit, list[bisect.Trial]]:
    bad = search.look(whole)
    suspected = likely(tuple(search.settings), bad.launch, bad.report.diagnostics) if bad else {}
    question = Question(
        tuple(search.settings), suspected, search.launchable, search.asked.spurious, search.asked.missed
    )
    seen = [bisect.Trial(whole, Outcome.FAILED)]
    while True:
        step = next_step(question, seen)
        if isinstance(step, Culprit):
            return step, seen
        search.say(_estimate(search, step.left))
        seen.append(bisect.Trial(step.mix, _outcome(search.launch(step.mix).outcome, wanted)))


def _outcome(word: str, wanted: str) -> Outcome:
    """A launch that fails in another way than the bad side tells nothing about what is searched."""
    if word == experiment.READY:
        return Outcome.PASSED
    return Outcome.FAILED if word == wanted else Outcome.INVALID


def _estimate(search: Search, left: int) -> str:
    seconds = [one.seconds for made in search.made.values() for one in made]
    minutes = left * sum(seconds) / len(seconds) / _MINUTE_S
    return f"about {left} launches left, {minutes:.1f} minutes\n"


def _kept(search: Search, culprit: Culprit) -> list[str]:
    """Write the mark and the draft rule of the culprit; a line for each."""
    mix = frozenset(culprit.settings)
    looked, made = search.look(mix), search.made.get(mix, [])
    if not mix or culprit.among or looked is None or not made:
        return []
    last, told = made[-1], []
    answer = search.answers.get(mix)
    if answer is not None and worth_a_mark(answer):
        mark = mark_of(looked.candidate, answer, looked.report, name=looked.profile.name, node=last.node, at=last.at)
        path, _ = marks.keep(mark, search.project)
        told.append(f"marked known-bad: {path}{' (a rehearsal: not for git)' if last.rehearsal else ''}")
    rule = draft_rule(
        looked.candidate,
        culprit.settings,
        {
            "summary": f"{' with '.join(culprit.settings)} ends in {last.outcome}"[:200],
            "why": f"The start ends with: {last.root or last.outcome}"[:300],
            "remedy": f"Change {culprit.settings[0]}.",
            "ref": last.record,
            "date": last.at[:10],
            "hardware": "a rehearsal" if last.rehearsal else last.node,
            "saw": f"the smallest of {len(search.settings)} differing settings that fails, by bisection",
        },
    )
    if rule is not None:
        Rule.model_validate({**rule, "id": search.name, "family": "own"})
        head = [f"A draft from {search.name}; move it to rules/ when you agree."]
        told.append(f"draft rule: {trials.draft(search.project, search.name, rule, head)}")
    return told


def _told(search: Search, culprit: Culprit, wanted: str, launches: int, kept: list[str]) -> str:
    lines = [f"culprit: {search.settings[name]}" for name in culprit.settings]
    if culprit.among:
        lines.append(f"and one of these, which no launch can tell apart: {', '.join(culprit.among)}")
    lines.append(f"  = {wanted}, found in {launches} launches among {len(search.settings)} settings")
    return "\n".join([*lines, *kept]) + "\n"
