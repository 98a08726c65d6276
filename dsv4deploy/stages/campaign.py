"""What a campaign came to: its stacks, what failed and how often, what was tried on which stack, and what is unknown."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

from dsv4deploy.model.campaign import Campaign, Conclusion, Made
from dsv4deploy.model.experiment import ENDS, INFRASTRUCTURAL, READY, Kind
from dsv4deploy.model.mark import Condition, Core, Host, Mark

Words = Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Stack:
    """One stack fingerprint, under a letter."""

    letter: str
    core: Core
    host: Host


@dataclass(frozen=True, slots=True)
class Row:
    """One configuration: what of it varies in the campaign, and what came of it on each stack, by letter."""

    words: Words
    cells: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class DeadEnd:
    """One way in which starts failed: the class, its decisive line, and everything that shows it."""

    outcome: str
    root: str
    stage: str
    made: tuple[Made, ...] = ()
    marks: tuple[Mark, ...] = ()


def stacks(campaign: Campaign) -> tuple[Stack, ...]:
    """Every stack that something was tried on, in the order in which it first was."""
    found = [(one.core, one.host) for one in campaign.made if one.core]
    found += [(mark.core, seen.host) for mark in campaign.marks for seen in mark.sightings]
    distinct = [pair for at, pair in enumerate(found) if pair not in found[:at]]
    return tuple(Stack(_letter(number), *pair) for number, pair in enumerate(distinct))


def letter(known: Sequence[Stack], core: Core | None, host: Host) -> str:
    """The letter of a stack; `?` where nobody wrote it down."""
    return next((one.letter for one in known if (one.core, one.host) == (core, host)), "?")


def common(campaign: Campaign) -> Words:
    """What every configuration of the campaign had alike, in words."""
    every = [words_of(one) for one in _conditions(campaign)]
    return (
        {name: value for name, value in every[0].items() if all(o.get(name) == value for o in every)} if every else {}
    )


def matrix(campaign: Campaign) -> tuple[Row, ...]:
    """What was tried on which stack: a row for each configuration, the simplest first."""
    known = stacks(campaign)
    same, rows = common(campaign), dict[tuple[tuple[str, str], ...], dict[str, list[str]]]()
    for condition, core, host, outcome in _seen(campaign):
        words = tuple(item for item in words_of(condition).items() if item[0] not in same)
        rows.setdefault(words, {}).setdefault(letter(known, core, host), []).append(outcome)
    ordered = sorted(rows.items(), key=lambda row: (len(row[0]), row[0]))
    return tuple(Row(dict(words), {at: tuple(found) for at, found in cells.items()}) for words, cells in ordered)


def dead_ends(campaign: Campaign) -> tuple[DeadEnd, ...]:
    """Every way in which starts failed, with the trials and marks that show it, in the order of the first."""
    found: dict[tuple[str, str], list[Made]] = {}
    for one in campaign.made:
        if one.trial.outcome not in ENDS:
            found.setdefault((one.trial.outcome, one.trial.root), []).append(one)
    known = {key: tuple(m for m in campaign.marks if key == (_class(m), m.last.root)) for key in found}
    others = [mark for mark in campaign.marks if not any(mark in marks for marks in known.values())]
    return (
        *(DeadEnd(*key, made[0].trial.stage, tuple(made), known[key]) for key, made in found.items()),
        *(DeadEnd(_class(mark), mark.last.root, mark.last.stage or "", (), (mark,)) for mark in others),
    )


def unknown(campaign: Campaign) -> Iterator[str]:
    """What nobody can say yet, in sentences, with what would settle it where that is known."""
    if not campaign.made and not campaign.marks:
        yield "Everything: nothing has been tried."
    for one in campaign.conclusions:
        yield from _open_ends(one, campaign)
    told = {one.name for one in campaign.conclusions}
    for name in dict.fromkeys(one.trial.experiment for one in campaign.made):
        if name not in told:
            yield f"What `{name}` means: it has trials and no verdict. Run it again; what is done counts."
    for stack in stacks(campaign):
        missing = [key for key in Host.model_fields if getattr(stack.host, key) is None]
        if missing and not stack.core.rehearsal:
            yield f"Of stack {stack.letter} the records do not hold {', '.join(missing)}."
    for mark in campaign.marks:
        if not mark.rule and mark.retired is None and not _explained(mark, campaign):
            yield f"Which part of `{mark.id}` is to blame: only that whole configuration is known to have failed."
    yield from _holes(campaign)


def words_of(condition: Condition) -> dict[str, str]:
    """What takes effect and is no default, and where nobody can tell that, what is written; then variables."""
    settings = {**{k: v for k, v in condition.written.items() if v is not None}, **condition.settings}
    return {name: _text(value) for name, value in [*sorted(settings.items()), *sorted(condition.environment.items())]}


def tally(words: Iterable[str]) -> str:
    """`ready`, or `2 ready, 1 stream-capture`."""
    found = list(words)
    counts = {word: found.count(word) for word in dict.fromkeys(found)}
    if len(counts) == 1 and len(found) == 1:
        return found[0]
    return ", ".join(f"{count} {word}" for word, count in counts.items())


def went_well(words: Sequence[str]) -> bool:
    """Whether every start came as far as it should."""
    return bool(words) and all(word in {READY, "reached"} for word in words)


def _open_ends(one: Conclusion, campaign: Campaign) -> Iterator[str]:
    if one.kind is not Kind.DECIDED:
        yield f"`{one.name}` is {one.kind}: {one.verdict}. Next: {one.next or 'none is known'}."
        return
    counts: dict[str, int] = {}
    for made in campaign.made:
        if made.trial.record in one.trials:
            counts[made.trial.arm] = counts.get(made.trial.arm, 0) + 1
    once = [arm for arm, count in counts.items() if count == 1]
    if once and one.arms:
        yield f"Whether `{one.name}` comes out the same each time: {', '.join(once)} ran once. Next: `--repeats 3`."
    if one.objections:
        yield f"How far `{one.name}` can be trusted: {len(one.objections)} weak points of it were named before the start."


def _holes(campaign: Campaign) -> Iterator[str]:
    """Configurations that failed on one stack and were never tried on another one."""
    letters = [one.letter for one in stacks(campaign)]
    for row in matrix(campaign):
        missing = [letter for letter in letters if letter not in row.cells]
        if missing and any(word not in ENDS for cell in row.cells.values() for word in cell):
            label = ", ".join(f"{name} = {value}" for name, value in row.words.items()) or "the common configuration"
            yield f"Whether {label} fails on stack {' and '.join(missing)} too."


def _explained(mark: Mark, campaign: Campaign) -> bool:
    """Whether a decided experiment rests on a trial that failed as the mark did."""
    records = {record for one in campaign.conclusions if one.kind is Kind.DECIDED for record in one.trials}
    return any(
        one.trial.record in records and (one.trial.outcome, one.trial.root) == (_class(mark), mark.last.root)
        for one in campaign.made
    )


def _seen(campaign: Campaign) -> Iterator[tuple[Condition, Core, Host, str]]:
    """Everything that was tried and says something, with its outcome; a mark counts where no trial says the same."""
    for one in campaign.made:
        if one.core and one.trial.outcome != INFRASTRUCTURAL:
            yield one.condition, one.core, one.host, one.trial.outcome
    tried = [(one.condition, one.core, one.host) for one in campaign.made if one.trial.outcome not in ENDS]
    for mark in campaign.marks:
        for seen in mark.sightings:
            if (mark.condition, mark.core, seen.host) not in tried:
                yield mark.condition, mark.core, seen.host, _class(mark)


def _conditions(campaign: Campaign) -> list[Condition]:
    return [*(one.condition for one in campaign.made if one.core), *(mark.condition for mark in campaign.marks)]


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _class(mark: Mark) -> str:
    return mark.class_ or "unrecognised"


def _letter(number: int) -> str:
    """A, B, ... Z, AA, AB, ..."""
    above, rest = divmod(number, len(ascii_uppercase))
    return (_letter(above - 1) if above else "") + ascii_uppercase[rest]
