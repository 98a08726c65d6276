"""What does not hang together in an experiment file, each mistake where it stands and all of them at once."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.document import KeyPath, Merged
from dsv4deploy.model.experiment import CHECK_FAILED, ENDS, FAILED, REACHED, READY, Decision, Experiment
from dsv4deploy.model.nearest import nearest
from dsv4deploy.stages.experiment import covers


@dataclass(frozen=True, slots=True)
class Known:
    """What an experiment may name: failure classes, and the variants of its base profile."""

    classes: Collection[str]
    variants: Collection[str] = ()


def mistakes(experiment: Experiment, merged: Merged, known: Known) -> tuple[Diagnostic, ...]:
    """Names that name nothing, and rows that cannot count; `merged` knows where everything stands."""
    found = (_Found(merged, experiment).all(known)) if experiment.arms else ()
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Found:
    merged: Merged
    experiment: Experiment

    def all(self, known: Known) -> Iterator[Diagnostic]:
        if self.experiment.deadline_s is not None and self.experiment.polls is not None:
            yield self._at(("polls",), "`deadline_s` and `polls` say the same", "give one of them")
        for name, arm in self.experiment.arms.items():
            if arm.control is not None:
                others = [other for other in self.experiment.arms if other != name]
                yield from self._named(("arms", name, "control"), "arm", arm.control, others)
            for index, variant in enumerate(arm.variants):
                yield from self._named(("arms", name, "variants", index), "variant", variant, known.variants)
        yield from self._circles()
        for index, row in enumerate(self.experiment.decide):
            yield from self._row(("decide", index), row, known)
            yield from self._shadowed(index, row)

    def _circles(self) -> Iterator[Diagnostic]:
        """Arms that are each other's control, so that none of them is one."""
        told: set[str] = set()
        for name in self.experiment.arms:
            way: list[str] = []
            at: str | None = name
            while at is not None and at in self.experiment.arms and at not in way:
                way.append(at)
                at = self.experiment.arms[at].control
            if at == name and len(way) > 1 and name not in told:
                told.update(way)
                message = (
                    f"the controls of {', '.join(way)} go in a circle: none of them is compared with anything else"
                )
                yield self._at(("arms", name, "control"), message, "leave `control` out of the arm that changes least")

    def _row(self, path: KeyPath, row: Decision, known: Known) -> Iterator[Diagnostic]:
        for arm, word in row.when.items():
            yield from self._named((*path, "when", arm), "arm", arm, self.experiment.arms, key=True)
            yield from self._outcome((*path, "when", arm), word, known)
            yield from self._too_far((*path, "when", arm), arm, word)
        if row.supports is not None:
            yield from self._named((*path, "supports"), "hypothesis", row.supports, self.experiment.hypotheses)
        changed = [change for arm in self.experiment.arms.values() for change in arm.changes]
        for index, matter in enumerate(row.matters):
            if not any(covers(matter, change) for change in changed):
                message = f"no arm changes {matter}, so that nothing here can show that it matters"
                yield self._at((*path, "matters", index), message, f"one of {', '.join(dict.fromkeys(changed))}")

    def _outcome(self, path: KeyPath, word: str, known: Known) -> Iterator[Diagnostic]:
        words = (*ENDS, FAILED, CHECK_FAILED)
        if word not in words and word not in known.classes:
            near = nearest(word, (*words, *known.classes))
            message = f"there is no outcome {word}" + (f"; did you mean {near}?" if near else "")
            yield self._at(path, message, f"one of {', '.join(words)}, or the class of a failure as `triage` names it")

    def _too_far(self, path: KeyPath, arm: str, word: str) -> Iterator[Diagnostic]:
        goal = self.experiment.goal(arm) if arm in self.experiment.arms else None
        if goal and word == READY:
            message = f"arm {arm} is stopped once it has reached {goal}, and so is never {READY}"
            yield self._at(path, message, f"say `{REACHED}`, or take away `reach`")
        if arm in self.experiment.arms and not goal and word == REACHED:
            yield self._at(path, f"arm {arm} has no stage to reach", f"give it one as `reach`, or say `{READY}`")

    def _shadowed(self, index: int, row: Decision) -> Iterator[Diagnostic]:
        for number, earlier in enumerate(self.experiment.decide[:index], 1):
            if all(arm in row.when and _implies(row.when[arm], word) for arm, word in earlier.when.items()):
                message = f"row {index + 1} of `decide` never counts: row {number} fits whenever it does"
                yield self._at(("decide", index), message, f"put it before row {number}, or drop it")
                return

    def _named(
        self, path: KeyPath, what: str, name: str, known: Iterable[str], *, key: bool = False
    ) -> Iterator[Diagnostic]:
        names = list(known)
        if name in names:
            return
        near = nearest(name, names)
        message = f"there is no {what} {name}" + (f"; did you mean {near}?" if near else "")
        remedy = f"one of {', '.join(names)}" if names else f"there is no {what} at all: leave it out"
        yield self._at(path, message, remedy, key=key)

    def _at(self, path: KeyPath, message: str, remedy: str, *, key: bool = False) -> Diagnostic:
        place = (self.merged.keys.get(path) if key else None) or self.merged.place(path)
        return Diagnostic("experiment", Level.ERROR, message, place=place, remedy=remedy)


def _implies(word: str, general: str) -> bool:
    """Whether an arm that ends in `word` also ends in `general`."""
    return word == general or (general == FAILED and word not in ENDS)
