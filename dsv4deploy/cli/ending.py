"""The signals that end a command: Ctrl-C, SIGTERM, and a terminal that is gone."""

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def heard_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Give them to `handler` for a while; what we were started to ignore (`nohup`) stays ignored."""
    heard = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, handler) for number in heard}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
