"""What ends a command is heard for a while, and `nohup` has its way."""

import os
import signal
import threading
from collections.abc import Iterator

import pytest

from dsv4deploy.rim import ending


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


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_interrupt_is_postponed_to_the_end_of_the_work(number: signal.Signals) -> None:
    signal.signal(number, signal.default_int_handler)
    done = []

    def work() -> None:
        with ending.postponed() as asked:
            os.kill(os.getpid(), number)
            done.append(list(asked))

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == [[number]]
    assert signal.getsignal(number) is signal.default_int_handler


def test_who_listens_already_goes_on_and_nothing_is_interrupted() -> None:
    heard: list[int] = []
    with ending.heard_by(lambda caught, _: heard.append(caught)), ending.postponed() as asked:
        os.kill(os.getpid(), signal.SIGINT)
    assert (heard, asked) == ([signal.SIGINT], [])


def test_a_thread_of_its_own_hears_nothing_and_changes_nothing() -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)
    seen = []

    def work() -> None:
        with ending.postponed():
            seen.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [signal.default_int_handler]
