"""What ends a command is heard for a while, and `nohup` has its way."""

import os
import signal
from collections.abc import Iterator

import pytest

from dsv4deploy.cli import ending


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_each_is_heard_and_then_left_to_who_heard_it_before(number: signal.Signals) -> None:
    heard: list[int] = []
    signal.signal(number, lambda *_: heard.append(-1))
    with ending.heard_by(lambda caught, _: heard.append(caught)):
        os.kill(os.getpid(), number)
    os.kill(os.getpid(), number)
    assert heard == [number, -1]


def test_what_is_ignored_stays_ignored() -> None:
    heard: list[int] = []
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    with ending.heard_by(lambda caught, _: heard.append(caught)):
        os.kill(os.getpid(), signal.SIGHUP)
    assert (heard, signal.getsignal(signal.SIGHUP)) == ([], signal.SIG_IGN)
