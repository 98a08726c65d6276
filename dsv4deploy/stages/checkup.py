"""What a checkup tells beyond itself: what the engine changed by itself, and whether answers are as they once were."""

import difflib
from collections.abc import Mapping
from typing import Any

from dsv4deploy.model.checked import Checked, Checkup
from dsv4deploy.model.memory import GIB, MIB, NOTHING, Account, Part, total
from dsv4deploy.node.checks import every
from dsv4deploy.node.checks.server_info import silently

# Answers of one model at temperature 0 differ a little with the batch that they ran in; another text altogether is news.
_ALIKE = 0.5
# Beside what the account knows, a card holds a context and graphs; less than the account is never right.
_CLOSE = 0.95


def changed(checkup: Checkup, argv: list[str], defaults: Mapping[str, Any]) -> tuple[str, ...]:
    """Every setting that nobody asked for and that is not the default of this engine version."""
    return tuple(silently(dict(checkup.settings), argv, dict(defaults)))


def unlike(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    """The kinds of requests whose answers have little in common with those that were kept."""
    shared = [kind for kind in now if kind in before]
    return tuple(kind for kind in shared if _alike(before[kind], now[kind]) < _ALIKE)


def failure(checkup: Checkup) -> Mapping[str, Any] | None:
    """The failed check in the words of a judged start, for a mark; None if none speaks of the configuration."""
    failed = every.failure([one.model_dump() for one in checkup.checks])
    return {**failed, "digest": checkup.digest} if failed else None


def memory_as_predicted(checkup: Checkup, account: Account) -> Checked:
    """Whether every card holds at least the weights and the pool of the memory account."""
    least = _held(account)
    if least is None:
        needs = f"unknown: needs {', '.join(account.needs)}" if account.needs else "the account tells no pool"
        return Checked(check="memory", state="skipped", told=needs)
    used = min(card.used_mib for card in checkup.cards) * MIB
    told = f"a card holds {used / GIB:.1f} GiB; weights and pool take {least / GIB:.1f} GiB by the memory account"
    return Checked(check="memory", state="good" if used >= _CLOSE * least else "bad", told=told)


def _held(account: Account) -> float | None:
    """The least bytes that weights and pool take on a rank; None if the account does not tell the pool."""
    per_token = next((term.amount for term in account.terms if term.unit == "B/token"), None)
    if account.tokens is None or per_token is None:
        return None
    by_part = {
        part: {term.name: term.amount for term in account.terms if term.part is part and term.unit == "B"}
        for part in (Part.WEIGHTS, Part.POOL)
    }
    pool = by_part[Part.POOL].get("states of requests", NOTHING).low + account.tokens.low * per_token.low
    return total(by_part[Part.WEIGHTS].values()).low + max(0.0, pool)


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one.split(), other.split()).ratio()
