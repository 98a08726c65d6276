"""Memory of one rank as an account: every term with its number, where it comes from and how sure it is."""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from dsv4deploy.model.diagnostic import Diagnostic

GIB = 1 << 30
MIB = 1 << 20


class Sure(StrEnum):
    """How sure a number is; the surest first."""

    MEASURED = "measured"
    EXACT = "exact"
    LOGGED = "logged"
    INFERRED = "inferred"
    ASSUMED = "assumed"


@dataclass(frozen=True, slots=True)
class Interval:
    """A number known between `low` and `high`, with the likeliest between them; exact if all are equal."""

    low: float
    likely: float
    high: float

    def __add__(self, other: "Interval") -> "Interval":
        return Interval(self.low + other.low, self.likely + other.likely, self.high + other.high)

    def __sub__(self, other: "Interval") -> "Interval":
        return Interval(self.low - other.high, self.likely - other.likely, self.high - other.low)

    def scaled(self, factor: float) -> "Interval":
        """All of it times a factor that is not negative."""
        return Interval(self.low * factor, self.likely * factor, self.high * factor)

    def widened(self, low: float, high: float) -> "Interval":
        """The ends times a factor each, the likeliest as it is."""
        return Interval(self.low * low, self.likely, self.high * high)

    def at_least(self, least: float) -> "Interval":
        """No end below `least`."""
        return Interval(max(self.low, least), max(self.likely, least), max(self.high, least))


NOTHING = Interval(0, 0, 0)


def exactly(number: float) -> Interval:
    """An interval of one number."""
    return Interval(number, number, number)


def between(low: float, high: float) -> Interval:
    """An interval in which nothing is likelier than the middle."""
    return Interval(low, (low + high) / 2, high)


def total(intervals: Iterable[Interval]) -> Interval:
    """Their sum."""
    return sum(intervals, NOTHING)


class Part(StrEnum):
    """Where in the account a term stands, in the order in which the engine spends the memory."""

    BUDGET = "budget"
    WEIGHTS = "weights"
    POOL = "pool"
    SLACK = "slack"
    LOAD = "load"


class Term(NamedTuple):
    """One line of the account.

    Attributes:
        name: what it is, `weights: experts`.
        amount: how much; taken away where negative.
        unit: `B` (bytes on one rank), `B/token`, `tokens`, `requests` or empty for a plain number.
        source: the formula, the file or the log line that it comes from.
    """

    part: Part
    name: str
    amount: Interval
    unit: str
    source: str
    sure: Sure


class Measured(NamedTuple):
    """What the log of a first start on that node told; sizes in bytes on one rank.

    Attributes:
        free_before: `Load weight begin. avail mem=`, the least of all ranks.
        weights: `Load weight end … mem usage=`.
        draft: the same of the draft model's pair of lines.
        bytes_per_token: pool size divided by `max_total_num_tokens`.
        graphs: `Capture … graph end … mem usage=`, summed.
    """

    free_before: float | None = None
    weights: float | None = None
    draft: float | None = None
    bytes_per_token: float | None = None
    graphs: float | None = None


class Workload(NamedTuple):
    """What the server is meant to hold: tokens of the longest prompt with its answer, and how many users at once."""

    longest_prompt: int | None = None
    concurrency: int | None = None


@dataclass(frozen=True, slots=True)
class Account:
    """The answer of memory fit.

    Attributes:
        tokens: tokens in the pool of one rank; None if it cannot be told.
        slack: bytes left outside the pool while the longest prompt is prefilled.
        needs: what would make it known or narrower, as a person would ask for it.
        not_modelled: what the launch uses and the account leaves out.
    """

    terms: tuple[Term, ...] = ()
    tokens: Interval | None = None
    slack: Interval | None = None
    diagnostics: tuple[Diagnostic, ...] = ()
    needs: tuple[str, ...] = ()
    not_modelled: tuple[str, ...] = ()
