"""Intervals keep their order under every operation."""

from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.model.memory import Interval, between, exactly, total

NUMBERS = st.integers(-(10**6), 10**6)
INTERVALS = st.lists(NUMBERS, min_size=3, max_size=3).map(lambda three: Interval(*sorted(three)))


def ordered(interval: Interval) -> bool:
    return interval.low <= interval.likely <= interval.high


@given(INTERVALS, INTERVALS, st.integers(0, 100))
def test_results_are_in_order_and_hold_every_outcome(one: Interval, other: Interval, factor: int) -> None:
    assert ordered(one + other)
    assert ordered(one - other)
    assert ordered(one.scaled(factor))
    assert (one - other).low == one.low - other.high
    assert (one - other).high == one.high - other.low


def test_sums_and_constructors() -> None:
    assert total([exactly(1), between(2, 4)]) == Interval(3, 4, 5)
    assert Interval(-5, 1, 9).at_least(0) == Interval(0, 1, 9)
    assert exactly(10).widened(0.5, 2) == Interval(5, 10, 20)
