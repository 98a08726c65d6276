"""A campaign as an engineering report in Markdown, for somebody who was not there."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict

from dsv4deploy.model.campaign import Applied, Campaign, Conclusion, Made
from dsv4deploy.model.experiment import ENDS, Kind
from dsv4deploy.model.mark import Core, Host
from dsv4deploy.stages.campaign import (
    DeadEnd,
    Row,
    Stack,
    common,
    dead_ends,
    letter,
    matrix,
    stacks,
    tally,
    unknown,
    went_well,
    words_of,
)

_MINUTE = 60
_ROOT = 400
_LINE = 116
_COLUMNS = 6
_NAMES = {
    "engine_version": "SGLang", "build": "build", "patches": "patches", "arch": "GPU architecture", "model": "model",
    "driver": "driver", "cuda": "CUDA", "torch": "torch", "triton": "triton", "flashinfer": "flashinfer",
    "sgl_kernel": "kernel package", "nccl": "NCCL",
}  # fmt: skip
_REHEARSED = (
    "> **Rehearsed.** What ran here was a stand-in for the engine.",
    "> It shows how the question would be answered, and says nothing about hardware.",
)


def report(campaign: Campaign, version: str) -> str:
    """The whole report; `version` is ours."""
    parts = [
        _head(campaign, version),
        _section("In short", _short(campaign)),
        _section("Stacks", _stacks(campaign)),
        _section("What was asked, and what came out", _questions(campaign)),
        _section("Dead ends", _dead_ends(campaign)),
        _section("Known bad: settings and stacks", _matrix(campaign)),
        _section("Trials in order", _trials(campaign)),
        _section("Still unknown", (f"- {line}" for line in unknown(campaign))),
        _section(
            "Left to decide",
            (f"- `{one}` is a draft rule: read it, then move it to `rules/`." for one in campaign.drafts),
        ),
    ]
    return "\n\n".join(filter(None, parts)) + "\n"


def size(campaign: Campaign) -> str:
    """How much was tried: `3 trials, 1 question, 1 mark`."""
    counted = ((campaign.made, "trial"), (campaign.conclusions, "question"), (campaign.marks, "mark"))
    return ", ".join(_count(len(found), one) for found, one in counted)


def _head(campaign: Campaign, version: str) -> str:
    times = sorted([*(one.trial.at for one in campaign.made), *(one.at for one in campaign.applied)])
    nodes = _nodes([*(one.trial.node for one in campaign.made), *(mark.last.node for mark in campaign.marks)])
    lines = [f"# {campaign.name}: what was tried, and what is known", ""]
    span = f" {_span(times[0], times[-1])}, on {nodes}" if times and nodes else ""
    lines.append(f"{size(campaign)}{span}.")
    lines.append(f"Written by dsv4deploy {version} from the project's own records; nothing in it was added by hand.")
    if campaign.made and all(one.trial.rehearsal for one in campaign.made):
        lines += ["", *_REHEARSED]
    return "\n".join(lines)


def _section(title: str, lines: Iterable[str]) -> str:
    found = list(lines)
    return "\n".join([f"## {title}", "", *found]) if found else ""


def _short(campaign: Campaign) -> Iterator[str]:
    for one in campaign.conclusions:
        doubt = "" if one.kind is Kind.DECIDED else f" ({one.kind}: nothing is settled)"
        yield f"- **{one.question}**"
        yield f"  {_sentence(one.verdict)}{doubt}"
        if one.remedy:
            yield f"  {_sentence(one.remedy)}"
    failed, open_points = len(dead_ends(campaign)), len(list(unknown(campaign)))
    if failed:
        yield f"- {_count(failed, 'way', 'ways')} in which a start fails, each with its decisive line: see *Dead ends*."
    if open_points:
        yield f"- {_count(open_points, 'thing is', 'things are')} still unknown: see the end."


def _stacks(campaign: Campaign) -> Iterator[str]:
    found = stacks(campaign)
    if not found:
        return
    known = [key for key in _NAMES if any(_of_stack(one, key) for one in found)]
    yield from _table(["", *(one.letter for one in found)], [_stack_row(key, found) for key in known])
    missing = [name for key, name in _NAMES.items() if key not in known and key not in {"build", "patches"}]
    if missing:
        yield ""
        yield f"Not in the records: {', '.join(missing)}."
    if same := common(campaign):
        yield ""
        yield "Every start had these settings that are not the engine's defaults:"
        yield from _flowing([f"`{name} = {value}`" for name, value in same.items()])


def _flowing(items: Sequence[str]) -> Iterator[str]:
    """The items in lines, none of them broken."""
    line = ""
    for item, sign in zip(items, [*[","] * (len(items) - 1), "."], strict=True):
        if line and len(line) + len(item) > _LINE:
            yield line
            line = ""
        line += f"{' ' if line else ''}{item}{sign}"
    yield line


def _stack_row(key: str, found: Sequence[Stack]) -> list[str]:
    return [_NAMES[key], *(_of_stack(one, key) or ("none" if key in {"build", "patches"} else "?") for one in found)]


def _of_stack(one: Stack, key: str) -> str:
    owner: Core | Host = one.core if key in Core.model_fields else one.host
    value = getattr(owner, key)
    text = ", ".join(str(part)[:12] for part in value) if isinstance(value, tuple) else str(value or "")
    return f"{text} (rehearsed)" if key == "engine_version" and one.core.rehearsal else text


def _questions(campaign: Campaign) -> Iterator[str]:
    for number, one in enumerate(campaign.conclusions):
        yield from [""] if number else []
        yield from _question(one, [made for made in campaign.made if made.trial.record in one.trials])


def _question(one: Conclusion, made: Sequence[Made]) -> Iterator[str]:
    yield f"### {one.name}"
    yield ""
    yield one.question
    if one.hypotheses:
        yield ""
        for name, says in one.hypotheses.items():
            yield f"- *{name}*: {says}{' — **supported**' if name == one.supports else ''}"
    yield ""
    yield from _arms(one, made)
    yield ""
    title = "Verdict" if one.kind is Kind.DECIDED else f"No verdict ({one.kind})"
    yield f"**{title}: {_sentence(one.verdict)}**"
    if one.matters and one.arms:
        yield f"What mattered: {' together with '.join(f'`{path}`' for path in one.matters)}."
    if one.remedy:
        yield f"What to do: {_sentence(one.remedy)}"
    if one.next:
        yield f"What to run next: {_sentence(one.next)}"
    if one.objections:
        yield ""
        yield "Weak points that were named before the start:"
        yield ""
        yield from (f"- {_sentence(objection)}" for objection in one.objections)


def _arms(one: Conclusion, made: Sequence[Made]) -> list[str]:
    arms = list(one.arms) or list(dict.fromkeys(trial.trial.arm for trial in made))
    rows = []
    for name in arms:
        mine = [trial.trial for trial in made if trial.trial.arm == name]
        told = one.arms.get(name)
        differs = f"against {told.control}: {told.differs}" if told and told.control else "control" if told else ""
        outcome = tally(trial.outcome for trial in mine) or "not launched"
        took = " to ".join(dict.fromkeys(_time(pick(one.seconds for one in mine)) for pick in (min, max) if mine))
        rows.append([name, differs, outcome, took, ", ".join(f"#{_number(t.record)}" for t in mine)])
    head = ["arm", "what it changes", "outcome", "took", "trials"]
    if not one.arms:
        head[0], rows = "launched", [[row[0], *row[2:]] for row in rows]
        head.pop(1)
    return _table(head, rows)


def _dead_ends(campaign: Campaign) -> Iterator[str]:
    same = common(campaign)
    for number, one in enumerate(dead_ends(campaign)):
        yield from [""] if number else []
        yield from _dead_end(one, same)


def _dead_end(one: DeadEnd, same: Mapping[str, str]) -> Iterator[str]:
    yield f"### {one.outcome}, in {one.stage or 'its start'}"
    yield ""
    yield from (f"    {line}" for line in (one.root[:_ROOT] or "nothing decisive was said").splitlines())
    yield ""
    if one.made:
        nodes = _nodes(made.trial.node for made in one.made)
        times = "once" if len(one.made) == 1 else f"{len(one.made)} times"
        yield f"Seen {times} on {nodes}: {', '.join(f'#{_number(made.trial.record)}' for made in one.made)}."
        told = list(dict.fromkeys(_told(made, same) for made in one.made))
        yield from (f"Each time with {told[0]}." if len(told) == 1 else f"With {line}." for line in told)
    for mark in one.marks:
        covers = f"confirms the rule `{mark.rule}`" if mark.rule else "covers exactly this configuration"
        gone = f" Retired: {mark.retired.because}." if mark.retired else ""
        yield f"Marked as `{mark.id}`, last seen {_moment(mark.last.at)} on {_nodes([mark.last.node])}; the mark {covers}.{gone}"


def _told(made: Made, same: Mapping[str, str]) -> str:
    items = [f"`{name} = {value}`" for name, value in words_of(made.condition).items() if name not in same]
    return ", ".join(items) or "the common configuration"


def _matrix(campaign: Campaign) -> Iterator[str]:
    rows, letters = matrix(campaign), [one.letter for one in stacks(campaign)]
    if not rows:
        return
    names = list(dict.fromkeys(name for row in rows for name in row.words))
    yield "What takes effect beside what every start had; an empty cell is the engine's default."
    yield ""
    if len(names) <= _COLUMNS:
        head = [f"`{name}`" for name in names]
        cells = [[row.words.get(name, "") for name in names] for row in rows]
    else:
        head, cells = ["settings"], [[_label(row)] for row in rows]
    outcomes = [[_cell(row.cells.get(at, ())) for at in letters] for row in rows]
    head += [f"stack {at}" for at in letters]
    yield from _table(head, [[*one, *came] for one, came in zip(cells, outcomes, strict=True)])


def _label(row: Row) -> str:
    return "<br>".join(f"`{name} = {value}`" for name, value in row.words.items()) or "nothing else"


def _cell(words: Sequence[str]) -> str:
    if not words:
        return "not tried"
    return tally(words) if went_well(words) or not any(w not in ENDS for w in words) else f"**{tally(words)}**"


def _trials(campaign: Campaign) -> Iterator[str]:
    known = stacks(campaign)
    rows = [_trial(one, letter(known, one.core, one.host)) for one in campaign.made]
    rows += [_applied(one) for one in campaign.applied]
    if rows:
        head = ["when (UTC)", "node", "what", "outcome", "in", "took", "stack", "record"]
        yield from _table(head, [row[1:] for row in sorted(rows, key=lambda row: (row[0], row[-1]))])


def _trial(made: Made, stack: str) -> list[str]:
    one = made.trial
    what = f"{one.experiment}: {one.arm}"
    stage = one.stage if one.outcome not in {"ready", "reached"} else ""
    return [
        one.at,
        _moment(one.at),
        _nodes([one.node]),
        what,
        one.outcome,
        stage,
        _time(one.seconds),
        stack,
        f"#{_number(one.record)}",
    ]


def _applied(one: Applied) -> list[str]:
    end = f"{one.end}: {one.told}" if one.told and one.end != "applied" else one.end or "never came to an end"
    took = _time(one.seconds) if one.seconds is not None else ""
    return [one.at, _moment(one.at), one.node, f"{one.verb} {one.name}".strip(), end, "", took, "", one.record]


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    lines = [head, ["---"] * len(head), *rows]
    return [
        f"| {' | '.join(cell.replace('|', chr(92) + '|').replace(chr(10), ' ') for cell in row)} |" for row in lines
    ]


def _sentence(text: str) -> str:
    first = text.partition(" ")[0]
    # `torch.compile` and `tp_size` are written as they are.
    whole = text if re.search(r"[._=]\w", first) else text[:1].upper() + text[1:]
    return whole if whole.endswith((".", "!", "?")) else f"{whole}."


def _count(count: int, one: str, many: str = "") -> str:
    return f"{count} {one if count == 1 else many or f'{one}s'}"


def _span(first: str, last: str) -> str:
    if first[:10] == last[:10]:
        return f"on {first[:10]} between {first[11:16]} and {last[11:16]} UTC"
    return f"from {first[:10]} to {last[:10]}"


def _nodes(names: Iterable[str]) -> str:
    return ", ".join("this machine" if name == "here" else name for name in dict.fromkeys(names))


def _moment(at: str) -> str:
    return f"{at[:10]} {at[11:16]}"


def _time(seconds: float) -> str:
    if seconds < _MINUTE:
        return f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    return f"{minutes}:{rest:02} min"


def _number(record: str) -> str:
    return record.rpartition("/")[2].partition(".")[0].lstrip("0") or "0"


def machine(campaign: Campaign) -> str:
    """The same for programs, `report/1`."""
    told = {
        "schema": "report/1",
        "project": campaign.name,
        "stacks": [
            {"letter": one.letter, "core": one.core.model_dump(mode="json"), "host": one.host.model_dump(mode="json")}
            for one in stacks(campaign)
        ],
        "common": dict(common(campaign)),
        "verdicts": [one.model_dump(mode="json") for one in campaign.conclusions],
        "matrix": [{"settings": dict(row.words), "outcomes": dict(row.cells)} for row in matrix(campaign)],
        "trials": [asdict(one.trial) for one in campaign.made],
        "applies": [asdict(one) for one in campaign.applied],
        "unknown": list(unknown(campaign)),
        "drafts": campaign.drafts,
    }
    return json.dumps(told, indent=2) + "\n"
