"""The bisection finds any culprit, launches nothing that cannot be launched, and weighs outcomes that may be flukes."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.stages.bisect import Culprit, Mix, Next, Outcome, Question, Trial, next_step, side

NAMES = tuple("abcdefghijklmnop")


def searched(
    question: Question, culprit: Mix, *, invalid: Mix = frozenset(), seed: int = 0
) -> tuple[Culprit, list[Trial]]:
    """Play the search against a world in which `culprit` fails and each of `invalid` cannot be launched."""
    chance, trials = random.Random(seed), list[Trial]()  # noqa: S311 (a game, no secret)
    while isinstance(step := next_step(question, trials), Next):
        fails = 1 - question.missed if culprit <= step.mix else question.spurious
        outcome = Outcome.FAILED if chance.random() < fails else Outcome.PASSED
        trials.append(Trial(step.mix, Outcome.INVALID if step.mix & invalid else outcome))
        assert len(trials) < 300
    return step, trials


@given(st.sets(st.sampled_from(NAMES), min_size=1, max_size=6).map(frozenset))
def test_any_culprit_is_found_exactly(culprit: Mix) -> None:
    found, _ = searched(Question(NAMES), culprit)
    assert frozenset(found.settings) == culprit
    assert found.among == ()


@given(st.sets(st.sampled_from(NAMES), min_size=1, max_size=3).map(frozenset), st.integers(0, 1000))
def test_without_noise_no_mix_is_launched_twice(culprit: Mix, seed: int) -> None:
    _, trials = searched(Question(NAMES), culprit, seed=seed)
    assert len({trial.mix for trial in trials}) == len(trials)


WORLDS = st.dictionaries(st.sets(st.sampled_from("abcde"), min_size=1).map(frozenset), st.sampled_from(Outcome))


@given(WORLDS, st.permutations("abcde"))
def test_in_any_world_it_ends_and_what_it_calls_settled_was_seen_to_fail(world: dict[Mix, Outcome], names: str) -> None:
    trials = [Trial(frozenset(names), Outcome.FAILED)]
    while isinstance(step := next_step(Question(tuple(names)), trials), Next):
        assert step.mix not in {trial.mix for trial in trials}
        trials.append(Trial(step.mix, world.get(step.mix, Outcome.PASSED)))
    failed = {trial.mix for trial in trials if trial.outcome is Outcome.FAILED}
    assert (frozenset(step.settings) in failed) or not step.settled


def test_what_fails_otherwise_by_itself_is_not_launched_for_ever() -> None:
    def world(mix: Mix) -> Outcome:
        return Outcome.FAILED if mix >= {"a", "b"} else Outcome.INVALID if "b" in mix else Outcome.PASSED

    for question, most in ((Question(("a", "b")), 1), (Question(("a", "b"), spurious=0.2), 3)):
        trials = [Trial(frozenset("ab"), Outcome.FAILED)]
        while isinstance(step := next_step(question, trials), Next):
            trials.append(Trial(step.mix, world(step.mix)))
        assert (step.settings, step.among, step.perhaps, step.settled) == (("b",), ("a",), True, False)
        assert [trial.mix for trial in trials].count(frozenset("b")) == most


def test_outcomes_that_no_single_culprit_explains_are_told_as_such() -> None:
    outcomes = {"abc": Outcome.FAILED, "ab": Outcome.PASSED, "a": Outcome.FAILED, "": Outcome.PASSED}
    found = next_step(Question(tuple("abc")), [Trial(frozenset(mix), outcome) for mix, outcome in outcomes.items()])
    assert isinstance(found, Culprit)
    assert (found.settings, found.single, found.settled) == (("a",), False, False)


@pytest.mark.parametrize(
    ("noise", "good", "ready", "sure"),
    [
        ((0, 0), True, [True], True),
        ((0, 0), True, [False], False),
        ((0, 0), False, [False], True),
        ((0, 0), False, [True], False),
        ((0.2, 0), True, [False], None),
        ((0.2, 0), True, [False, True], True),
        ((0.2, 0), True, [False] * 5, False),
        ((0.2, 0), False, [False], None),
        ((0.2, 0), False, [False] * 3, True),
        ((0, 0.2), False, [True], None),
        ((0, 0.2), False, [True, False], True),
    ],
)
def test_a_side_is_believed_once_no_fluke_explains_it(
    noise: tuple[float, float], good: bool, ready: list[bool], sure: bool | None
) -> None:
    assert side(Question(NAMES, spurious=noise[0], missed=noise[1]), ready, good=good, trusted=0.9) is sure


def test_what_cannot_be_launched_is_not_launched() -> None:
    question = Question(NAMES, launchable=lambda mix: "c" not in mix and not ("e" in mix and "f" not in mix))
    found, trials = searched(question, frozenset("bk"))
    assert found.settings == ("b", "k")
    assert all(question.launchable(trial.mix) for trial in trials)


def test_a_setting_that_turns_out_invalid_is_learnt() -> None:
    found, trials = searched(Question(NAMES), frozenset("bk"), invalid=frozenset("m"))
    assert found.settings == ("b", "k")
    assert sum(trial.outcome is Outcome.INVALID for trial in trials) <= 5


def test_what_no_launch_can_tell_apart_is_said() -> None:
    pairs = {"a": "b", "b": "a"}  # neither can be launched without the other
    question = Question(tuple("abcd"), launchable=lambda mix: all(pairs.get(name, name) in mix for name in mix))
    found, _ = searched(question, frozenset("b"))
    assert set(found.among) == {"a", "b"}
    assert found.settings == ()


def test_likely_settings_cost_fewer_launches() -> None:
    _, plain = searched(Question(NAMES), frozenset("d"))
    _, told = searched(Question(NAMES, likely={"d": 50.0}), frozenset("d"))
    assert len(told) < len(plain)


@pytest.mark.parametrize("size", [1, 2, 3])
def test_with_flukes_the_answer_is_rarely_wrong(size: int) -> None:
    question = Question(NAMES, spurious=0.2)
    wrong = 0
    for seed in range(60):
        culprit = frozenset(random.Random(seed).sample(NAMES, size))  # noqa: S311 (a game, no secret)
        wrong += frozenset(searched(question, culprit, seed=seed)[0].settings) != culprit
    assert wrong <= 2


def test_the_doubt_is_what_was_allowed() -> None:
    found, _ = searched(Question(NAMES, spurious=0.2, wrong=0.01), frozenset("bk"))
    assert 0 < found.doubt <= 0.01


def test_past_trials_are_all_that_is_remembered() -> None:
    question = Question(NAMES)
    _, trials = searched(question, frozenset("bk"))
    for count in range(len(trials)):
        step = next_step(question, trials[:count])
        assert isinstance(step, Next)
        assert step.mix == trials[count].mix
        assert step.left >= 1
