"""Compares the bisection with plain delta debugging: launches and wrong answers over 40 differing settings.

    .venv/bin/python benchmarks/bisection.py [SEEDS]

Repeats are launches too. Delta debugging with noise repeats a launch whose outcome may be a fluke, a failure or a pass,
until that is as unlikely as the bisection allows; `plain` does without, where failures are missed, and is often wrong.
"""

import random
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import mean

from dsv4deploy.stages.bisect import Culprit, Mix, Outcome, Question, Trial, next_step

SETTINGS = tuple(f"s{number:02}" for number in range(40))
REPEATS = 5  # 0.2 ** 5 is one in 3000


@dataclass(frozen=True)
class World:
    """What is true: the culprit, the setting that makes a mix invalid, and how often an outcome is a fluke."""

    culprit: Mix
    invalid: str = ""
    known: bool = True
    spurious: float = 0.0
    missed: float = 0.0

    def launch(self, mix: Mix, chance: random.Random) -> Outcome:
        if self.invalid in mix:
            return Outcome.INVALID
        fails = 1 - self.missed if self.culprit <= mix else self.spurious
        return Outcome.FAILED if chance.random() < fails else Outcome.PASSED

    @property
    def noisy(self) -> bool:
        return bool(self.spurious or self.missed)

    def launchable(self, mix: Mix) -> bool:
        return not (self.known and self.invalid in mix)


def bisected(world: World, chance: random.Random) -> tuple[int, bool]:
    """Launches, and whether the answer is the culprit."""
    question = Question(SETTINGS, launchable=world.launchable, spurious=world.spurious, missed=world.missed)
    trials: list[Trial] = []
    while True:
        step = next_step(question, trials)
        if isinstance(step, Culprit):
            return len(trials), frozenset(step.settings) == world.culprit
        trials.append(Trial(step.mix, world.launch(step.mix, chance)))


def ddmin(world: World, chance: random.Random, *, repeats: bool = True) -> tuple[int, bool]:
    """Plain delta debugging with a cache (Zeller and Hildebrandt, 2002)."""
    cache: dict[Mix, bool] = {}
    launches = 0

    def fails(mix: Mix) -> bool:
        nonlocal launches
        if mix not in cache:
            cache[mix] = False
            for _ in range(REPEATS if repeats and world.noisy else 1) if world.launchable(mix) else ():
                launches += 1
                cache[mix] = world.launch(mix, chance) is Outcome.FAILED
                # Only one of the two outcomes may be a fluke; the other one is believed at once.
                if cache[mix] is not bool(world.spurious):
                    break
        return cache[mix]

    left, parts = list(SETTINGS), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        subsets = [left[at : at + size] for at in range(0, len(left), size)]
        rests = [[one for one in left if one not in subset] for subset in subsets]
        if found := next((one for one in subsets if fails(frozenset(one))), None):
            left, parts = found, 2
        elif found := next((one for one in rests if fails(frozenset(one))), None):
            left, parts = found, max(parts - 1, 2)
        elif parts >= len(left):
            break
        else:
            parts = min(len(left), 2 * parts)
    return launches, frozenset(left) == world.culprit


def worlds(seed: int) -> dict[str, World]:
    """The cases that are asked for, each with the same culprits."""
    chance = random.Random(seed)
    picked = chance.sample(SETTINGS, 4)
    single, pair, triple, odd = frozenset(picked[:1]), frozenset(picked[:2]), frozenset(picked[:3]), picked[3]
    return {
        "single": World(single),
        "pair": World(pair),
        "triple": World(triple),
        "pair, one setting known to be invalid": World(pair, odd),
        "pair, one setting invalid, learnt by launching": World(pair, odd, known=False),
        "single, 20 % spurious failures": World(single, spurious=0.2),
        "pair, 20 % spurious failures": World(pair, spurious=0.2),
        "triple, 20 % spurious failures": World(triple, spurious=0.2),
        "pair, 20 % of failures missed": World(pair, missed=0.2),
    }


def measured(name: str, seeds: int, find: Callable[[World, random.Random], tuple[int, bool]]) -> tuple[float, float]:
    """Mean launches, and the share of wrong answers."""
    found = [find(worlds(seed)[name], random.Random(f"{name} {seed}")) for seed in range(seeds)]
    return mean(launches for launches, _ in found), 1 - mean(right for _, right in found)


def main() -> None:
    seeds = int(sys.argv[1]) if sys.argv[1:] else 200
    print(f"{'':48} {'bisect':>8} {'wrong':>7}   {'ddmin':>8} {'wrong':>7}   ratio")
    for name, world in worlds(0).items():
        ours, wrong = measured(name, seeds, bisected)
        plain = {"plain": partial(ddmin, repeats=False)} if world.missed else {}
        for how, find in {"": ddmin, **plain}.items():
            theirs, missed = measured(name, seeds, find)
            row = f"{name}{how and f' ({how})'}"
            print(f"{row:48} {ours:8.1f} {wrong:7.1%}   {theirs:8.1f} {missed:7.1%}   {theirs / ours:5.1f}")


if __name__ == "__main__":
    main()
