"""Finds the smallest set of differing settings that flips an outcome: from past trials to the next one, or the culprit.

The settings stand in an order. The shortest beginning of it that fails ends with a setting of the culprit; that one is
kept on, and the search goes on among those before it, until what was found fails by itself. Each search is a binary
one over probabilities, so that likely settings cost fewer launches and an outcome that may be a fluke is weighed, not
believed. A culprit is taken to be one set: whatever holds it fails, whatever lacks a part of it does not.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from math import ceil, log2

Mix = frozenset[str]

# Bits and probabilities below this are rounding.
_NOTHING = 1e-12
# Launches after which a mix that was invalid each time is taken to be, where outcomes may be flukes.
_TRIES = 3
# How likely one or two further parts are, beside what was expected of the size.
_SURPRISE = (0.0, 0.005, 0.002)


class Outcome(StrEnum):
    """How the launch of a mix ended, for the question that is asked."""

    PASSED = "passed"
    FAILED = "failed"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Trial:
    """One launch: the settings that were taken from the bad side, and how it ended."""

    mix: Mix
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Question:
    """What is searched.

    Attributes:
        settings: names of what differs, in the order of writing.
        likely: how likely each is to be part of the culprit, relative to 1; from the rule catalogue.
        launchable: whether a mix can be launched at all; what cannot is never launched.
        spurious: share of launches that fail without the culprit.
        missed: share of launches that pass with it.
        wrong: how often the answer may be wrong.
        sizes: how likely a culprit of one, two, three, ... settings is.
    """

    settings: tuple[str, ...]
    likely: Mapping[str, float] = field(default_factory=dict)
    launchable: Callable[[Mix], bool] = lambda _: True
    spurious: float = 0.0
    missed: float = 0.0
    wrong: float = 0.005
    sizes: tuple[float, ...] = (0.4, 0.35, 0.15, 0.06, 0.04)


@dataclass(frozen=True, slots=True)
class Next:
    """The mix to launch next, and about how many launches are left, this one included."""

    mix: Mix
    left: int


@dataclass(frozen=True, slots=True)
class Culprit:
    """The answer.

    Attributes:
        settings: the smallest set that fails.
        among: settings of which one belongs to it too, and no launchable mix tells which.
        perhaps: whether it may also do without any of `among`.
        doubt: how likely the answer is wrong.
        proved: whether a launch of exactly `settings` failed; else it follows from other launches.
        single: whether one culprit explains all outcomes; else `settings` is the smallest mix that was seen to fail.
    """

    settings: tuple[str, ...]
    among: tuple[str, ...] = ()
    perhaps: bool = False
    doubt: float = 0.0
    proved: bool = True
    single: bool = True

    @property
    def settled(self) -> bool:
        """Whether exactly these settings were shown to be at fault."""
        return self.proved and self.single and not self.among


@dataclass(frozen=True, slots=True)
class _Level:
    """One search: what is kept on, the candidates in their order, and how likely each number of further parts is."""

    found: tuple[str, ...]
    order: tuple[str, ...]
    sizes: tuple[float, ...]

    def mix(self, count: int) -> Mix:
        """What was found, with the first `count` candidates."""
        return frozenset((*self.found, *self.order[:count]))


def side(question: Question, ready: Sequence[bool], *, good: bool, trusted: float) -> bool | None:
    """Whether a whole side is what it is said to be, by its launches; None as long as flukes may explain them.

    Args:
        question: how often outcomes are flukes, and how often the answer may be wrong.
        ready: for each launch, whether it came up.
        good: whether it is said to be the good side.
        trusted: how likely that was before any launch.
    """
    right, wrong = trusted, 1 - trusted
    for one in ready:
        outcome = Outcome.PASSED if one else Outcome.FAILED
        right *= _chance(question, outcome, culprit=not good)
        wrong *= _chance(question, outcome, culprit=good)
    sure = right / (right + wrong) if right + wrong else trusted
    return None if question.wrong < sure < 1 - question.wrong else sure > 0.5  # noqa: PLR2004 (more likely than not)


def next_step(question: Question, trials: Sequence[Trial]) -> Next | Culprit:
    """The next launch that tells most, or the culprit once the doubt is small enough."""
    question = replace(question, launchable=_still_launchable(question, trials))
    suspects = _suspects(question.settings, trials)
    candidates, sizes = question.settings, (0.0, *question.sizes)
    found: tuple[str, ...] = ()
    doubt = 0.0
    while True:
        order = _ordered(question, found, candidates, suspects)
        level = _Level(found, order, tuple(_normal(sizes)))
        belief = _belief(question, level, trials)
        if not any(belief):
            return _several(question, trials)
        best = max(range(len(belief)), key=belief.__getitem__)
        # Half of what is left, so that however many searches follow, all of them together stay below it.
        if belief[best] < 1 - (question.wrong - doubt) / 2:
            step = _telling(question, level, belief, suspects)
            if step is not None:
                return step
            return _inseparable(level, belief, doubt, trials)
        doubt += 1 - belief[best]
        if best == 0:
            return _proof(question, found, trials, doubt)
        sizes = _fewer(question, level, best)
        found, candidates = (*found, order[best - 1]), order[: best - 1]


def _still_launchable(question: Question, trials: Iterable[Trial]) -> Callable[[Mix], bool]:
    """What can be launched after all that was tried: a mix that turned out invalid is not launched for ever."""
    invalid = Counter(trial.mix for trial in trials if trial.outcome is Outcome.INVALID)
    enough = _TRIES if question.spurious or question.missed else 1
    return lambda mix: invalid[mix] < enough and question.launchable(mix)


def _belief(question: Question, level: _Level, trials: Iterable[Trial]) -> list[float]:
    """How likely it is that the first `n` candidates, and no fewer, complete the culprit; for n from 0 on.

    All are 0 where the trials contradict each other.
    """
    belief = _prior(question, level)
    place = {name: index for index, name in enumerate(level.order, 1)}
    for trial in trials:
        if trial.outcome is Outcome.INVALID or not trial.mix.issuperset(level.found):
            continue
        reach = 0  # every candidate up to here is in the mix, so a culprit that ends here fails
        while reach < len(level.order) and level.order[reach] in trial.mix:
            reach += 1
        inside = {place[name] for name in trial.mix if name in place}
        for n in range(len(belief)):
            if n <= reach:
                belief[n] *= _chance(question, trial.outcome, culprit=True)
            elif n not in inside:
                belief[n] *= _chance(question, trial.outcome, culprit=False)
            # else the mix holds the last part, and maybe not the others: it tells nothing about this n
    return _normal(belief) if any(belief) else belief


def _chance(question: Question, outcome: Outcome, *, culprit: bool) -> float:
    fails = 1 - question.missed if culprit else question.spurious
    return fails if outcome is Outcome.FAILED else 1 - fails


def _prior(question: Question, level: _Level) -> list[float]:
    """Before any launch: the last of `s` parts is rather late in the order, and none may be left."""
    weights = [question.likely.get(name, 1.0) for name in level.order]
    total = sum(weights) or 1.0
    before, found = 0.0, [level.sizes[0]]
    for weight in weights:
        share = weight / total
        found.append(sum(p * ((before + share) ** s - before**s) for s, p in enumerate(level.sizes) if s))
        before += share
    return found


def _fewer(question: Question, level: _Level, last: int) -> tuple[float, ...]:
    """How likely each number of further parts is once the last one is known to be the candidate number `last`."""
    weights = [question.likely.get(name, 1.0) for name in level.order]
    before, share = sum(weights[: last - 1]) / sum(weights), weights[last - 1] / sum(weights)
    if last == 1:
        return (1.0,)
    further = _normal([p * s * share * before ** (s - 1) for s, p in enumerate(level.sizes) if s])
    # Larger culprits than anybody thought of stay possible.
    padded = [*further, *[0.0] * (len(_SURPRISE) - len(further))]
    surprise = [*_SURPRISE, *[0.0] * (len(padded) - len(_SURPRISE))]
    return tuple(p + extra for p, extra in zip(padded, surprise, strict=True))


def _telling(question: Question, level: _Level, belief: Sequence[float], suspects: Mix) -> Next | None:
    """The launchable mix whose outcome tells most; None if none tells anything."""
    best, most = None, 0.0
    inside = 0.0
    for count in range(len(level.order) + 1):
        inside += belief[count]
        gain = _information(question, inside)
        mix = level.mix(count)
        if gain <= most or not mix or not question.launchable(mix):
            continue
        # A mix that may turn out invalid tells that at least; half of what it would tell otherwise.
        gain *= 0.5 if mix & suspects else 1.0
        if gain > most:
            best, most = mix, gain
    if best is None or most <= _NOTHING:
        return None
    return Next(best, _left(question, level, belief))


def _information(question: Question, inside: float) -> float:
    """Bits that a launch is expected to tell, where the culprit is in the mix with this probability."""
    inside = min(max(inside, 0.0), 1.0)
    fails = inside * (1 - question.missed) + (1 - inside) * question.spurious
    noise = inside * _entropy(question.missed) + (1 - inside) * _entropy(question.spurious)
    return _entropy(fails) - noise


def _entropy(p: float) -> float:
    return 0.0 if p <= 0 or p >= 1 else -p * log2(p) - (1 - p) * log2(1 - p)


def _left(question: Question, level: _Level, belief: Sequence[float]) -> int:
    """Launches left: what is uncertain now, and a search for each part that is still expected, at the rate of the noise."""
    rate = max(_information(question, step / 20) for step in range(1, 20))
    now = sum(-p * log2(p) for p in belief if p > 0)
    further = max(0.0, sum(s * p for s, p in enumerate(level.sizes)) - 1)
    return max(1, ceil((now + further * log2(len(level.order) + 1)) / rate))


def _suspects(settings: Iterable[str], trials: Iterable[Trial]) -> Mix:
    """Settings of which one may make any launch invalid: in every mix that was, and in none that was not."""
    invalid = [trial.mix for trial in trials if trial.outcome is Outcome.INVALID]
    if not invalid:
        return frozenset()
    fine = [trial.mix for trial in trials if trial.outcome is not Outcome.INVALID]
    return frozenset(settings).intersection(*invalid).difference(*fine)


def _ordered(question: Question, found: Sequence[str], candidates: Sequence[str], suspects: Mix) -> tuple[str, ...]:
    """The candidates so that as many beginnings as possible can be launched; what may be invalid comes last."""
    waiting = sorted(candidates, key=lambda name: name in suspects)
    order: list[str] = []
    while waiting:
        held = frozenset((*found, *order))
        fitting = next((name for name in waiting if question.launchable(held | {name})), waiting[0])
        order.append(fitting)
        waiting.remove(fitting)
    return tuple(order)


def _inseparable(level: _Level, belief: Sequence[float], doubt: float, trials: Iterable[Trial]) -> Culprit:
    """What is certain, and the candidates that cannot be told apart."""
    among = tuple(name for name, p in zip(level.order, belief[1:], strict=True) if p > _NOTHING)
    failed = {trial.mix for trial in trials if trial.outcome is Outcome.FAILED}
    return Culprit(level.found, among, belief[0] > _NOTHING, doubt, frozenset(level.found) in failed)


def _several(question: Question, trials: Iterable[Trial]) -> Culprit:
    """What is left to say where the outcomes fit no single culprit."""
    failed = [trial.mix for trial in trials if trial.outcome is Outcome.FAILED]
    smallest = min(failed, key=len, default=frozenset(question.settings))
    return Culprit(tuple(name for name in question.settings if name in smallest), single=False)


def _proof(question: Question, found: Sequence[str], trials: Iterable[Trial], doubt: float) -> Next | Culprit:
    """The launch of what was found, where none was made that could speak for it; else the answer."""
    mix = frozenset(found)
    made = [trial.outcome for trial in trials if trial.mix == mix]
    if not made and question.launchable(mix):
        return Next(mix, 1)
    return Culprit(tuple(name for name in question.settings if name in mix), doubt=doubt, proved=Outcome.FAILED in made)


def _normal(weights: Sequence[float]) -> list[float]:
    total = sum(weights)
    return [weight / total for weight in weights] if total else [1 / len(weights)] * len(weights)
