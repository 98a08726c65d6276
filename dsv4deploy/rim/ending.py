"""The signals that end a command: Ctrl-C, SIGTERM, and a terminal that is gone."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def heard_by(handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    """Give them to `handler` for a while; what we were started to ignore (`nohup`) stays ignored."""
    with _given([number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN], handler):
        yield


@contextmanager
def postponed() -> Iterator[list[int]]:
    """Be interrupted after a piece of work instead of in the midst of it; what has come by then is in the list.

    A signal that somebody has given a handler of his own stays with that one, and a thread hears of none.
    """
    asked: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    ours = [number for number in _ENDING if is_main and signal.getsignal(number) is signal.default_int_handler]
    with _given(ours, lambda heard, _: asked.append(heard)):
        yield asked
    if asked:
        raise KeyboardInterrupt


@contextmanager
def _given(numbers: Sequence[int], handler: Callable[[int, FrameType | None], object]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)
