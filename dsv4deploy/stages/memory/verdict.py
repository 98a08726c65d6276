"""What the account means for the user: it cannot fit, it may not fit, or how much of what it holds."""

from typing import NamedTuple

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.memory import GIB, NOTHING, Account, Interval, Part, Sure, Term, Workload
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.launched import Launched

FRACTION, CARD, SIZE, TP = "--mem-fraction-static", "fact:gpu_memory_mib", "fact:model.weight_bytes", "--tp-size"
# Graphs and activations need the rest on every card seen.
MOST_FRACTION = 0.96
REFUSES = "enforced: the engine measures what the weights leave and stops when it is nothing (SGLang 0.5.12 to 0.5.23)"


class Limits(NamedTuple):
    """The figures of the account that decide, in bytes on one rank."""

    free: Interval
    weights: Interval
    pool: Interval
    room: Interval
    peak: Term | None


def judge(account: Account, inputs: Inputs, limits: Limits) -> tuple[Diagnostic, ...]:
    """Everything that the account has to say, errors first."""
    launch, workload = inputs.launch, inputs.workload
    if limits.pool.high < 0:
        return (_cannot_fit(account, launch, limits),)
    found = [
        _may_not_fit(account, launch, limits),
        _load_peak(launch, limits),
        _workload(account, launch, workload),
        _headroom(account, launch, limits, workload),
    ]
    return (*(told for told in found if told is not None), *_summary(account, launch, limits))


def _cannot_fit(account: Account, launch: Launched, limits: Limits) -> Diagnostic:
    return Diagnostic(
        "weights-do-not-fit",
        Level.WARNING if _guessed(account) else Level.ERROR,
        f"{_gib(limits.weights)} of weights on each of {launch.tp * launch.pp} ranks; "
        f"at most {_one(limits.pool.high + limits.weights.low)} may be filled",
        names=(FRACTION, TP, CARD, SIZE),
        effect="the load ends without memory, or nothing is left for the cache",
        evidence=(REFUSES, *_sources(account)),
        remedy=_more_room(launch, limits),
    )


def _may_not_fit(account: Account, launch: Launched, limits: Limits) -> Diagnostic | None:
    if limits.pool.low >= 0 or _guessed(account):
        return None
    return Diagnostic(
        "memory-may-not-fit",
        Level.WARNING,
        f"{_gib(limits.weights)} of weights on a rank may leave nothing for the cache",
        names=(FRACTION, TP, CARD, SIZE),
        effect="the engine stops after the load if nothing is left",
        evidence=(REFUSES, *_sources(account)),
        remedy=_more_room(launch, limits),
    )


def _load_peak(launch: Launched, limits: Limits) -> Diagnostic | None:
    if limits.peak is None or limits.free.high - limits.weights.low - limits.peak.amount.low >= 0:
        return None
    return Diagnostic(
        "memory-load-peak",
        Level.WARNING,
        f"the load needs {_gib(limits.peak.amount)} more than the weights for a moment, and the card has no room for it",
        names=(TP, CARD, SIZE),
        effect="out of memory while weights load",
        evidence=(f"{limits.peak.sure}: {limits.peak.source}",),
        remedy=_more_ranks(launch),
    )


def _workload(account: Account, launch: Launched, workload: Workload) -> Diagnostic | None:
    """The users that the profile speaks of, each with its longest prompt, against the pool of all replicas."""
    if account.tokens is None or workload.longest_prompt is None:
        return None
    users = workload.concurrency or 1
    wanted, held = users * workload.longest_prompt, account.tokens.high * launch.attention_dp
    if wanted <= held:
        return None
    return Diagnostic(
        "memory-workload-exceeds-pool",
        Level.WARNING,
        f"{users} x {workload.longest_prompt} tokens are {_count(wanted)}; the pool holds {_tokens(account.tokens)}",
        names=(FRACTION, "--max-running-requests", "--context-length"),
        effect="requests wait or are retracted and computed again",
        evidence=_sources(account),
        remedy=f"plan for {int(held // workload.longest_prompt)} users with such prompts, or add ranks",
    )


def _headroom(account: Account, launch: Launched, limits: Limits, workload: Workload) -> Diagnostic | None:
    """What is left outside the pool; a context that nobody says to use is no reason to warn."""
    scores = _scores(account)
    needed = account.slack if workload.longest_prompt else _without(account, scores)
    if needed is None or needed.high >= 0:
        return None
    return Diagnostic(
        "memory-no-headroom",
        Level.WARNING,
        f"{_gib(limits.room)} stay outside the pool, {_one(-needed.high)} less than graphs and a long prefill take",
        names=(FRACTION, "--chunked-prefill-size", "--context-length", "--max-running-requests"),
        effect="the server starts, and a rank dies of memory at the first long prompt",
        evidence=tuple(f"{term.sure}: {term.name} {_gib(_size(term))}, {term.source}" for term in _takers(account)),
        remedy=f"--chunked-prefill-size {max(2048, launch.chunk // 2)}, or a smaller --mem-fraction-static",
    )


def _summary(account: Account, launch: Launched, limits: Limits) -> tuple[Diagnostic, ...]:
    if account.tokens is None or account.tokens.high <= 0:
        return ()
    prompt = _longest_prompt(account, launch)
    message = f"{_gib(limits.weights)} of weights on a rank; the pool holds {_tokens(account.tokens)}"
    message += f"; prompts up to {_count(prompt)} are safe to prefill" if prompt is not None else ""
    return (Diagnostic("memory", Level.NOTE, message, names=(FRACTION,), evidence=_sources(account)),)


def _longest_prompt(account: Account, launch: Launched) -> int | None:
    """The prompt whose indexer scores still fit at worst; None if the whole context does, or not even graphs do."""
    scores = _scores(account)
    if scores is None or account.slack is None or account.slack.low >= 0 or not launch.context:
        return None
    per_token = -scores.amount.low / launch.context
    room = _without(account, scores).low
    return int(room / per_token) if per_token and room > 0 else None


def _scores(account: Account) -> Term | None:
    return next((term for term in account.terms if term.name == "indexer scores"), None)


def _without(account: Account, term: Term | None) -> Interval:
    slack = account.slack or NOTHING
    if term is None:
        return slack
    taken = term.amount
    return Interval(slack.low - taken.low, slack.likely - taken.likely, slack.high - taken.high)


def _guessed(account: Account) -> bool:
    """Whether the weights were never read or measured: a guess may warn, and never refuse."""
    return any(
        term.part is Part.WEIGHTS and term.name != "weights: draft" and term.sure is Sure.ASSUMED
        for term in account.terms
    )


def _takers(account: Account) -> list[Term]:
    return [
        term for term in account.terms if term.part is Part.SLACK and term.amount.low < 0 and term.name != "left over"
    ]


def _size(term: Term) -> Interval:
    return NOTHING - term.amount


def _sources(account: Account) -> tuple[str, ...]:
    """Where the two numbers that decide come from."""
    wanted = [term for term in account.terms if term.name == "free before load"]
    wanted += [term for term in account.terms if term.part is Part.WEIGHTS][:1]
    wanted += [term for term in account.terms if term.name == "cache per token"]
    return tuple(f"{term.sure}: {term.name}: {term.source}" for term in wanted)


def _more_room(launch: Launched, limits: Limits) -> str:
    """A larger fraction if that is likely to be enough, else more ranks."""
    wanted = limits.weights.likely / limits.free.likely if limits.free.likely > 0 else 1.0
    if launch.fraction is not None and launch.fraction < wanted < MOST_FRACTION:
        return f"--mem-fraction-static above {wanted:.2f}, or more ranks"
    return _more_ranks(launch)


def _more_ranks(launch: Launched) -> str:
    return f"--tp-size {launch.tp * 2}, a smaller checkpoint, or larger cards"


def _tokens(tokens: Interval) -> str:
    if tokens.low == tokens.high:
        return f"{_count(tokens.low)} tokens"
    return f"{_count(tokens.low)} to {_count(tokens.high)} tokens"


def _count(number: float) -> str:
    for size, unit in ((1e6, "M"), (1e3, "K")):
        if number >= size:
            return f"{number / size:.3g}{unit}"
    return f"{number:.0f}"


def _gib(amount: Interval) -> str:
    low, high = f"{amount.low / GIB:.1f}", f"{amount.high / GIB:.1f}"
    return f"{low} GiB" if low == high else f"{low} to {high} GiB"


def _one(size: float) -> str:
    return f"{size / GIB:.1f} GiB"
