"""Memory fit: whether the weights fit, how many tokens the pool holds, and what is left for long prompts."""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from dsv4deploy.model.checkpoint import Checkpoint
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.memory import (
    NOTHING,
    Account,
    Interval,
    Measured,
    Part,
    Sure,
    Term,
    Workload,
    between,
    exactly,
    total,
)
from dsv4deploy.stages.memory import verdict
from dsv4deploy.stages.memory.budget import fraction, free_before, multimodal_reserve
from dsv4deploy.stages.memory.inputs import Inputs
from dsv4deploy.stages.memory.known import shape_of
from dsv4deploy.stages.memory.launched import Launched, read_launch
from dsv4deploy.stages.memory.pools import Pool, pool_of, pool_terms
from dsv4deploy.stages.memory.shape import MissingError
from dsv4deploy.stages.memory.slack import load_peak, outside
from dsv4deploy.stages.memory.weights import OFFLOADING, draft_weights, weights

# What a launch may use that the account leaves out: dest -> what it changes.
NOT_MODELLED = {
    **dict.fromkeys(OFFLOADING, "weights held in host memory"),
    "enable_hisparse": "part of the cache in host memory",
    "enable_lora": "LoRA adapters and their buffers",
    "lora_paths": "LoRA adapters and their buffers",
    "enable_memory_saver": "weights and cache that are released and taken back",
    "ep_num_redundant_experts": "redundant experts",
    "enable_symm_mem": "a preallocated symmetric heap of 4 GiB",
}


class Budget(NamedTuple):
    """The first half of the account: what weights take, what the pool gets and what stays outside."""

    free: Interval
    weights: Interval
    pool: Interval
    room: Interval
    terms: tuple[Term, ...]


def fit(
    version: str | None,
    settings: Mapping[str, object],
    facts: Facts,
    checkpoint: Checkpoint | None = None,
    *,
    workload: Workload | None = None,
    measured: Measured | None = None,
) -> Account:
    """The memory account of one rank.

    Args:
        version: the engine's release; its cache layout depends on it.
        settings: effective settings, SGLang's dest -> value; one that is left out has the engine's default.
        facts: at least the card (`gpu_memory_mib`) and the model.
        checkpoint: shape and weights from the model folder; without one, a published shape of that model is taken.
        workload: longest prompt and concurrency that the server is meant for.
        measured: what a first start on that node told; it replaces estimates.
    """
    held = checkpoint if checkpoint is not None else Checkpoint.model_construct(geometry=shape_of(facts.model))
    launch = read_launch(version, settings, facts, held.geometry)
    inputs = Inputs(launch, facts, held, measured or Measured(), workload or Workload())
    needs, left_out = _needs(inputs), _left_out(launch)
    budget = _budget(inputs)
    if budget is None:
        return Account(needs=needs, not_modelled=left_out)
    tokens, pool_part, missing = _tokens(inputs, budget)
    slack, slack_part = _slack(inputs, budget)
    peak = load_peak(inputs)
    terms = (*budget.terms, *pool_part, *slack_part, *((peak,) if peak else ()))
    account = Account(terms, tokens, slack, needs=(*needs, *missing), not_modelled=left_out)
    limits = verdict.Limits(budget.free, budget.weights, budget.pool, budget.room, peak)
    return replace(account, diagnostics=verdict.judge(account, inputs, limits))


def _budget(inputs: Inputs) -> Budget | None:
    """What the pool gets; None if the card or the weights are not known."""
    free, share, parts = free_before(inputs), fraction(inputs), weights(inputs)
    if free is None or share is None or not parts:
        return None
    if inputs.launch.flag(*OFFLOADING) and inputs.measured.weights is None:
        most = total(term.amount for term in parts).high
        parts = (Term(Part.WEIGHTS, "weights: all", between(0, most), "B", "some are offloaded", Sure.ASSUMED),)
    draft, reserve = draft_weights(inputs), multimodal_reserve(inputs)
    extra = draft.amount if draft else NOTHING
    before = _draft_in_pool(inputs.launch)
    held, static = total(term.amount for term in parts), free.amount.scaled(share.amount.low)
    pool = static - held - (extra if before else NOTHING) - reserve
    terms = (
        free,
        share,
        _term(Part.BUDGET, "static budget", static, "free before load * fraction"),
        *parts,
        *((draft,) if draft else ()),
        *((_term(Part.BUDGET, "multimodal reserve", reserve, "0.5.18 and later"),) if reserve.high else ()),
        _term(Part.POOL, "pool", pool, "static budget less weights" + (" and draft" if draft and before else "")),
    )
    room = free.amount.scaled(1 - share.amount.low) - (NOTHING if before else extra)
    return Budget(free.amount, held, pool, room, terms)


def _tokens(inputs: Inputs, budget: Budget) -> tuple[Interval | None, tuple[Term, ...], tuple[str, ...]]:
    """Tokens in the pool, the lines that say so, and what is missing for it."""
    try:
        pool = _pool(inputs)
    except MissingError as missing:
        return None, (), (f"the model folder ({missing.args[0]} of its config.json)",)
    tokens = pool.tokens(budget.pool, inputs.launch.page, inputs.launch.max_total_tokens)
    source = "(pool less states) / bytes per token, whole pages"
    return tokens, (*pool_terms(pool), Term(Part.POOL, "tokens", tokens, "tokens", source, Sure.EXACT)), ()


def _slack(inputs: Inputs, budget: Budget) -> tuple[Interval, tuple[Term, ...]]:
    """What is left outside the pool during the longest prefill, and the lines that say so."""
    taken = outside(inputs, budget.room)
    slack = budget.room + total(term.amount for term in taken)
    first = _term(Part.SLACK, "outside the pool", budget.room, "free before load * (1 - fraction)")
    return slack, (first, *taken, _term(Part.SLACK, "left over", slack, f"during a prefill of {inputs.prompt} tokens"))


def _draft_in_pool(launch: Launched) -> bool:
    """Whether draft weights load before the pool is sized; before 0.5.14 they came out of what is left."""
    return launch.since(0, 5, 14) is not False


def _pool(inputs: Inputs) -> Pool:
    per_token = inputs.measured.bytes_per_token
    if per_token is not None:
        return Pool(NOTHING, exactly(per_token), "pool and tokens of a first start", Sure.MEASURED)
    return pool_of(inputs.shape, inputs.launch, inputs.facts.model.architectures)


def _needs(inputs: Inputs) -> tuple[str, ...]:
    lacking = {
        "gpu_memory_mib": inputs.facts.gpu_memory_mib is None and inputs.measured.free_before is None,
        "the model folder (weight bytes by class)": not inputs.checkpoint.weights and inputs.measured.weights is None,
        "engine_version": inputs.launch.release is None,
    }
    return tuple(need for need, is_lacking in lacking.items() if is_lacking)


def _left_out(launch: Launched) -> tuple[str, ...]:
    return tuple(f"--{dest.replace('_', '-')}: {what}" for dest, what in NOT_MODELLED.items() if launch.flag(dest))


def _term(part: Part, name: str, amount: Interval, source: str) -> Term:
    return Term(part, name, amount, "B", source, Sure.EXACT)
