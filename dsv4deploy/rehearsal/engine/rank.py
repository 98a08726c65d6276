"""One scheduler process: writes its share of the log, reports that it is ready, then answers what the leader asks."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import signal
import socket

from . import log
from .play import Player, Struck
from .record import Value
from .script import Script
from .stack import Stack

_WORDS = [
    "the",
    "quick",
    "answer",
    "of",
    "a",
    "rehearsal",
    "has",
    "no",
    "meaning",
    "but",
    "it",
    "has",
    "a",
    "length",
    "and",
    "it",
    "always",
    "looks",
    "the",
    "same",
]
# Tokens per rehearsal second.
_PREFILL = 100_000.0
_DECODE = 660.0
_PR_SET_NAME = 15
_PR_SET_PDEATHSIG = 1


def run(rank: int, stack: Stack, script: Script, channel: socket.socket) -> None:
    """Play the part of scheduler `rank`; returns when the leader has gone."""
    become_child("sglang::schedul")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for name in (signal.SIGTERM, signal.SIGQUIT):
        signal.signal(name, signal.SIG_DFL)
    player = Player(stack, script, rank)
    try:
        player.play("scheduler")
        _send(channel, {"ready": rank})
        _serve(player, channel)
    except Struck:
        player.fail()
        _end(script, channel)


def become_child(name: str) -> None:
    """Take the process name of the engine's child, as far as it is within reach, and die with the leader as it does."""
    with contextlib.suppress(OSError, AttributeError):
        prctl = ctypes.CDLL(None).prctl
        prctl(_PR_SET_NAME, name.encode(), 0, 0, 0)
        prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def _end(script: Script, channel: socket.socket) -> None:
    if script.end == "sigquit":
        os.kill(os.getppid(), signal.SIGQUIT)
    elif script.end.startswith("signal "):
        signum = int(script.end.split()[1])
        signal.signal(signum, signal.SIG_DFL) if signum != signal.SIGKILL else None
        os.kill(os.getpid(), signum)
    while channel.recv(4096):
        # A hung or failing scheduler reads nothing and answers nothing until somebody ends it.
        continue


def _serve(player: Player, channel: socket.socket) -> None:
    for line in channel.makefile("r", encoding="utf-8"):
        request = json.loads(line)
        if request["kind"] == "fail":
            raise Struck
        _send(channel, _answer(player, request))


def _answer(player: Player, request: dict[str, Value]) -> dict[str, Value]:
    """Prefill in chunks, decode, and answer with as many words as were asked for."""
    prompt, new = int(request["prompt"]), int(request["new"])
    pool, chunk = max(player.stack.numbers["tokens"], 1), max(int(player.stack.numbers["chunk"]), 1)
    for start in range(0, prompt, chunk):
        tokens = min(chunk, prompt - start)
        log.pause(tokens / _PREFILL)
        player.play("prefill", new=tokens, throughput=_PREFILL, usage=(start + tokens) / pool)
    log.pause(new / _DECODE)
    if new > 1:
        player.play("decode", held=prompt + new, throughput=_DECODE, usage=(prompt + new) / pool)
    words = [_WORDS[index % len(_WORDS)] for index in range(new)]
    return {"id": request["id"], "text": " " + " ".join(words), "tokens": new}


def _send(channel: socket.socket, message: dict[str, Value]) -> None:
    channel.sendall(json.dumps(message).encode() + b"\n")
