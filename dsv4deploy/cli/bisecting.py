"""Runs a bisection: launches the mixes that tell most until the smallest set of settings at fault is known."""

import hashlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from dsv4deploy.cli import arms, drafting, house, launching
from dsv4deploy.cli.arms import Ground, Over, Survey
from dsv4deploy.cli.drafting import Shown
from dsv4deploy.cli.launching import Goal, Node
from dsv4deploy.flow import Knowledge, Looked, merged_profile
from dsv4deploy.model.campaign import Conclusion
from dsv4deploy.model.diagnostic import Refused
from dsv4deploy.model.experiment import ENDS, INFRASTRUCTURAL, PROGRESSING, READY, Kind, Trial
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import trials
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages import bisect
from dsv4deploy.stages.bisect import Culprit, Mix, Outcome, Question, next_step, side
from dsv4deploy.stages.settings_between import Between, likely, refused_by_engine, settings_between
from dsv4deploy.stages.trial import Start, surroundings, trial_of

_MINUTE_S = 60
_TRIES = 3
_LATE = "late is not failed: give it more time with --deadline"
_AT_TIMES = "if it fails at times only, say how often it does not: --missed 0.2; to launch it anew: --again"
# How likely it is before any launch that a side is what the command line says of it.
_TRUSTED = 0.9
Say = Callable[[str], object]


@dataclass(frozen=True, slots=True)
class Asked:
    """What the command line says."""

    good: Path
    bad: Path
    where: arms.Where
    goal: Goal = field(default_factory=Goal)
    spurious: float = 0.0
    missed: float = 0.0
    again: bool = False

    @property
    def project(self) -> Path:
        """Where trials, marks and drafts go."""
        return self.bad.parent


@dataclass
class Search:
    """Two profiles, what differs between them, and every mix that was looked at or launched."""

    asked: Asked
    knowledge: Knowledge
    say: Say
    made: dict[Mix, list[Trial]] = field(default_factory=dict)
    looked: dict[Mix, Looked | None] = field(default_factory=dict)

    @cached_property
    def between(self) -> Between:
        """What differs."""
        texts = Files()
        return settings_between(*(merged_profile(texts, str(path)) for path in (self.asked.good, self.asked.bad)))

    @cached_property
    def whole(self) -> Mix:
        """The mix that is the bad side."""
        return frozenset(self.between.names)

    @cached_property
    def name(self) -> str:
        """The name under which its trials are kept: that of what is compared, and of what is asked."""
        goal = self.asked.goal
        asked = [goal.reach, *goal.checks, goal.command, goal.least or None]
        parts = [
            str(self.asked.good.name),
            *self.between.texts(self.whole),
            *filter(None, map(str, filter(None, asked))),
        ]
        return f"bisect-{hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:8]}"

    @cached_property
    def before(self) -> tuple[Trial, ...]:
        """The trials of earlier runs that may count."""
        return () if self.asked.again else trials.kept(self.asked.project, self.name)

    @cached_property
    def ground(self) -> Ground:
        """Where its launches are made."""
        return arms.ground(self.asked.where, self.asked.project)

    @cached_property
    def survey(self) -> Survey:
        """The nodes, of which the first is taken; looked at with an eye to the good side."""
        return self.ground.survey(arms.looked_with(self.knowledge, str(self.asked.good), Over()))

    @property
    def node(self) -> Node:
        """Where its launches are made."""
        return self.survey.nodes[0]

    @cached_property
    def question(self) -> Question:
        """What is searched."""
        bad, names = self.look(self.whole), self.between.names
        suspected = likely(names, bad.launch, bad.report.diagnostics) if bad else {}
        return Question(names, suspected, self.launchable, self.asked.spurious, self.asked.missed)

    def words(self, mix: Mix) -> str:
        """A mix as a person reads it."""
        return "bad side" if mix == self.whole else ", ".join(sorted(mix)) or "good side"

    def look(self, mix: Mix) -> Looked | None:
        """The good profile with the bad values of `mix`, ready to be launched; None where that makes no sense."""
        if mix not in self.looked:
            self.looked[mix] = self._look(mix)
        return self.looked[mix]

    def launchable(self, mix: Mix) -> bool:
        """Whether the engine would take such a launch at all, by its own rules; what they say of the bad side is asked."""
        looked, bad = self.look(mix), self.look(self.whole)
        if looked is None:
            return False
        asked = {one.rule for one in bad.report.diagnostics} if bad else set()
        return not refused_by_engine([one for one in looked.report.diagnostics if one.rule not in asked])

    def _look(self, mix: Mix) -> Looked | None:
        sets, good = self.between.texts(mix), str(self.asked.good)
        try:
            plain = arms.looked_with(self.knowledge, good, Over(sets=sets))
            own = (*sets, *self.ground.over(plain), f"name={self.name}")
            looked = arms.looked_with(self.knowledge, good, Over(sets=own, facts=self.survey.facts))
        except Refused:
            return None
        return None if looked.misread else looked

    def startable(self, mix: Mix) -> Looked:
        """The same as `look`, for what has to be launched.

        Raises:
            Trouble: it makes no sense.
        """
        looked, side = self.look(mix), self.asked.bad if mix else self.asked.good
        if looked is None:
            raise Trouble(f"{side} cannot be launched as it is written", f"dsv4deploy validate {side}", Exit.FOUND)
        return looked

    def launch(self, mix: Mix) -> Trial:
        """Launch a mix, or take the next trial of it that was made before.

        Raises:
            Trouble: something of the place stood in its way, time and again.
        """
        for _ in range(_TRIES):
            one = self._launched(mix)
            if one.outcome != INFRASTRUCTURAL:
                return one
        message = f"{self.words(mix)} failed because of the place, not of what was started: {one.root or one.outcome}"
        raise Trouble(message, "mend that and run again; what is done counts", Exit.APPLY_FAILED)

    def _launched(self, mix: Mix) -> Trial:
        looked = self.startable(mix)
        key, done = launching.key(looked, self.asked.goal), self.made.setdefault(mix, [])
        before = [one for one in self.before if one.key == key and launching.counts(one, looked, self.asked.goal)]
        if len(before) > len(done):
            done.append(before[len(done)])
            self.say(f"{self.words(mix)}: {done[-1].outcome} (done before, {done[-1].record})\n")
            return done[-1]
        begun = launching.started(self.node, looked, self.asked.goal, lambda _: None)
        start = Start(self.name, self.words(mix), key, self.node.name, trials.now())
        one = trial_of(looked.candidate, start, begun.answer, begun.outcome, begun.seconds)
        beside = {"mix": sorted(mix), "figures": dict(begun.figures), **surroundings(looked.candidate, begun.answer)}
        done.append(trials.keep(self.asked.project, one, beside))
        rate = f", {begun.figures['tokens_per_s']:g} tokens/s" if begun.figures else ""
        self.say(f"{self.words(mix)}: {one.outcome} after {one.seconds:g} s{rate} ({done[-1].record})\n")
        return done[-1]


def run(asked: Asked, *, as_json: bool) -> int:
    """Find the culprit, print it, and return the exit code."""
    out = sys.stderr if as_json else sys.stdout
    search = Search(asked, house.knowledge(asked.bad), launching.aloud(out))
    try:
        _opening(search)
        with launching.interruptible(), launching.aside(search.node, _service(search), asked.project, leave=False):
            launching.swept(search.node, search.survey.left(search.node.name, [search.name]))
            wanted = _controls(search)
            culprit, seen = _searched(search, wanted)
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    kept = _kept(search, culprit, wanted)
    trials.conclude(asked.project, _conclusion(search, culprit, wanted, kept))
    if as_json:
        print(json.dumps(_machine(search, culprit, wanted, seen, kept), indent=2))
    else:
        out.write(_told(search, culprit, wanted, kept))
    return Exit.FINE if culprit.settled else Exit.FOUND


def _opening(search: Search) -> None:
    if not search.whole:
        alike = "the two profiles do not differ in anything that could matter"
        raise Trouble(alike, "compare one that starts with one that does not", Exit.USAGE)
    count = len(search.whole)
    search.say(f"{count} {'setting differs' if count == 1 else 'settings differ'}: {', '.join(search.between.names)}\n")
    told = search.survey.told if len(search.survey.nodes) == 1 else (f"on {search.node.name}",)
    search.say("".join(f"{line}\n" for line in told))
    for mix in (Mix(), search.whole):
        if why := launching.unanswerable(search.startable(mix), search.asked.goal):
            raise Trouble(why, f"write it in {search.asked.good}, or leave the check out", Exit.USAGE)


def _service(search: Search) -> str:
    """The deployment that the good profile describes, which is out of the way for as long as the search takes."""
    return arms.looked_with(search.knowledge, str(search.asked.good), Over()).profile.name


def _controls(search: Search) -> str:
    """Launch both sides, as often as it takes to believe them where outcomes may be flukes; the failure that is searched.

    Raises:
        Trouble: the good side fails, or the bad one does not.
    """
    good = search.launch(Mix())
    while (sure := _sure(search, Mix(), good=True)) is None:
        good = search.launch(Mix())
    if not sure:
        remedy = _LATE if good.outcome == PROGRESSING else "give a profile that starts"
        raise Trouble(f"the good side is not good: {good.outcome} ({good.record})", remedy, Exit.FOUND)
    bad = search.launch(search.whole)
    while (sure := _sure(search, search.whole, good=False)) is None:
        bad = search.launch(search.whole)
    if not sure:
        remedy = _LATE if bad.outcome == PROGRESSING else _AT_TIMES
        raise Trouble(f"the bad side does not fail: {bad.outcome} ({bad.record})", remedy, Exit.FOUND)
    return Counter(one.outcome for one in search.made[search.whole] if one.outcome not in ENDS).most_common(1)[0][0]


def _sure(search: Search, mix: Mix, *, good: bool) -> bool | None:
    told = [one.outcome for one in search.made[mix] if one.outcome != INFRASTRUCTURAL]
    ready = [one == READY if good else one in ENDS for one in told]
    return side(search.question, ready, good=good, trusted=_TRUSTED)


def _searched(search: Search, wanted: str) -> tuple[Culprit, list[bisect.Trial]]:
    question = search.question
    seen = [bisect.Trial(search.whole, Outcome.FAILED)]
    while True:
        step = next_step(question, seen)
        if isinstance(step, Culprit):
            return step, seen
        search.say(_estimate(search, step.left))
        seen.append(bisect.Trial(step.mix, _outcome(search.launch(step.mix).outcome, wanted)))


def _outcome(word: str, wanted: str) -> Outcome:
    """A launch that fails in another way than the bad side tells nothing about what is searched."""
    if word == READY:
        return Outcome.PASSED
    return Outcome.FAILED if word == wanted else Outcome.INVALID


def _estimate(search: Search, left: int) -> str:
    seconds = [one.seconds for made in search.made.values() for one in made]
    minutes = left * sum(seconds) / len(seconds) / _MINUTE_S
    return f"about {left} launches left, {minutes:.1f} minutes\n"


def _kept(search: Search, culprit: Culprit, wanted: str) -> list[str]:
    """Write the mark and the draft rule of the culprit; a line for each."""
    mix = frozenset(culprit.settings)
    looked, project = search.look(mix), search.asked.project
    last = next((one for one in search.made.get(mix, ()) if one.outcome == wanted), None)
    if not culprit.settled or looked is None or last is None:
        return []
    says = f"{' with '.join(culprit.settings)} ends in {last.outcome}"
    saw = f"the smallest of {len(search.whole)} differing settings that fails, by bisection"
    told = drafting.marked(project, looked, trials.answer(project, last), _service(search), last)
    return [*told, *drafting.drafted(project, looked, Shown(search.name, culprit.settings, says, "", saw), last)]


def _conclusion(search: Search, culprit: Culprit, wanted: str, kept: list[str]) -> Conclusion:
    names = f"{search.asked.good.name} and {search.asked.bad.name}"
    return Conclusion(
        name=search.name,
        question=f"Which of the {len(search.whole)} settings between {names} brings {wanted}?",
        at=trials.now(),
        kind=Kind.DECIDED if culprit.settled else Kind.UNDECIDED,
        verdict=" with ".join([*map(search.between.told, culprit.settings), *_among(culprit)]),
        matters=culprit.settings,
        next=_next(culprit),
        trials=tuple(one.record for made in search.made.values() for one in made),
        kept=tuple(kept),
    )


def _next(culprit: Culprit) -> str:
    """What keeps the answer from being settled; empty if nothing does."""
    if not culprit.single:
        return "no single culprit explains these outcomes: this is the smallest mix that failed, and may hold too much"
    if culprit.among:
        return f"{_among(culprit)[0]} belongs to it too: no mix that can be launched tells"
    return "" if culprit.proved else "it follows from other launches: by itself this mix was not seen to fail"


def _among(culprit: Culprit) -> list[str]:
    """The settings of which one belongs to it too, in a word; none if there are none."""
    if not culprit.among:
        return []
    one = culprit.among[0] if len(culprit.among) == 1 else f"one of {', '.join(culprit.among)}"
    return [f"perhaps {one}" if culprit.perhaps else one]


def _launches(search: Search) -> int:
    return sum(map(len, search.made.values()))


def _machine(
    search: Search, culprit: Culprit, wanted: str, seen: list[bisect.Trial], kept: list[str]
) -> dict[str, object]:
    return {
        "schema": "bisect/1",
        "culprit": culprit.settings,
        "among": culprit.among,
        "perhaps": culprit.perhaps,
        "proved": culprit.proved,
        "single": culprit.single,
        "doubt": culprit.doubt,
        "launches": _launches(search),
        "failure": wanted,
        "trials": [{"mix": sorted(one.mix), "outcome": one.outcome} for one in seen],
        "kept": kept,
    }


def _told(search: Search, culprit: Culprit, wanted: str, kept: list[str]) -> str:
    lines = [f"culprit: {search.between.told(name)}" for name in culprit.settings]
    if why := _next(culprit):
        lines.append(f"  = {why}")
    doubt = f", wrong in {culprit.doubt:.1%} of such searches" if search.asked.spurious or search.asked.missed else ""
    lines.append(f"  = {wanted}, found in {_launches(search)} launches among {len(search.whole)} settings{doubt}")
    return "\n".join([*lines, *kept]) + "\n"
