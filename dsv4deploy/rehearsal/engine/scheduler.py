"""Asks the first scheduler: one channel, many requests at once, each with its own answer."""

from __future__ import annotations

import itertools
import json
import queue
import socket
import threading

from .record import Value


class Scheduler:
    """The leader's end of the channel to scheduler 0."""

    def __init__(self, channel: socket.socket) -> None:
        self._channel = channel
        self._numbers = itertools.count(1)
        self._waiting: dict[int, queue.Queue[dict[str, Value]]] = {}
        self._sending = threading.Lock()
        threading.Thread(target=self._receive, daemon=True).start()

    def ask(self, request: dict[str, Value], timeout: float | None = None) -> dict[str, Value] | None:
        """The answer to `request`; None if there is none within `timeout` seconds."""
        number = next(self._numbers)
        answers: queue.Queue[dict[str, Value]] = queue.Queue()
        self._waiting[number] = answers
        try:
            with self._sending:
                self._channel.sendall(json.dumps(dict(request, id=number)).encode() + b"\n")
            return answers.get(timeout=timeout)
        except (queue.Empty, OSError):
            return None
        finally:
            self._waiting.pop(number, None)

    def _receive(self) -> None:
        for line in self._channel.makefile("r", encoding="utf-8"):
            answer = json.loads(line)
            waiting = self._waiting.get(answer.get("id", 0))
            if waiting is not None:
                waiting.put(answer)
