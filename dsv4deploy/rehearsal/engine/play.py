"""Plays lines: the ordinary ones of a start, one after another, and those of a failure script."""

from __future__ import annotations

import os
import re
from pathlib import Path

from . import log
from .record import RECORD, Value, behaves
from .script import Script
from .stack import Stack


class Struck(Exception):  # noqa: N818 (no error: the failure that was asked for has its turn)
    """The failure script is to be played now."""


class Player:
    """Plays the part of one process; `rank` is None for the leader."""

    def __init__(self, stack: Stack, script: Script, rank: int | None = None) -> None:
        self.stack = stack
        self.script = script
        self.rank = rank
        self.prefix = "" if rank is None else stack.prefix(rank)

    def play(self, part: str, **more: Value) -> None:
        """Write the lines of `part` (`args`, `scheduler`, `server`, ...) that belong to this process.

        Raises:
            Struck: the failure script belongs here.
        """
        for entry in RECORD["lines"][part]:
            if self._mine(entry):
                self._entry(entry, more)

    def fail(self) -> None:
        """Write the lines of the failure script; what follows from it is the caller's."""
        site = str(Path(__file__).resolve().parent.parent)
        known = dict(
            self.stack.settings,
            site=site,
            model=self.stack.settings["model_path"],
            heads=self.stack.model.get("num_attention_heads"),
            derived=self.stack.model["context_length"],
            memory=f"{self.stack.world['gpu_memory_gib']:.2f}",
            pid=os.getpid(),
            parent=os.getppid(),
            rank=self.rank or 0,
        )
        # `<module>` and the like belong to the traceback.
        text = re.sub(r"<(\w+)>", lambda found: str(known.get(found[1], found[0])), self.script.failure["text"])
        pieces = text.split("<now> ")
        log.raw(pieces[0])
        for piece in pieces[1:]:
            log.line(piece.rstrip("\n") if piece.count("\n") <= 1 else piece[:-1], self.prefix)

    def strike(self, stage: str) -> None:
        """Raise `Struck` where the failure belongs to this stage and process."""
        if self.script.strikes(stage, self.rank):
            raise Struck

    def _mine(self, entry: dict[str, Value]) -> bool:
        if entry.get("first") and self.rank not in (None, 0):
            return False
        when: list[str] = entry.get("when") or []
        return all(
            (trait[1:] not in self.stack.traits) if trait[0] == "!" else trait in self.stack.traits for trait in when
        )

    def _entry(self, entry: dict[str, Value], more: dict[str, Value]) -> None:
        log.pause(entry.get("takes", 0))
        stage = entry.get("enters")
        if "bar" in entry:
            self._bar(entry)
        else:
            text = entry["text"].format(**dict(self.stack.numbers, pid=os.getpid(), **more))
            log.raw(text + "\n") if entry.get("bare") else log.line(text, self.prefix)
        if stage:
            log.pause(self.script.delays.get(stage, 0))
        if entry.get("strikes") and "bar" not in entry:
            self.strike(entry["strikes"])

    def _bar(self, entry: dict[str, Value]) -> None:
        """A progress bar, one line with carriage returns; only rank 0 shows it."""
        kind, label, seconds = entry["bar"], entry["text"], entry.get("lasts", 0.3)
        items = self._items(kind)
        for done in log.ticks(len(items), seconds):
            item = items[min(done, len(items) - 1)]
            spent = seconds * done / len(items)
            if done and self.script.strikes(entry.get("strikes", ""), self.rank):
                self._show("\n")
                raise Struck
            text = label.format(item=item, mem=self.stack.numbers["captured"])
            draw = log.shards if kind == "shards" else log.bar
            self._show("\r" + draw(done, len(items), spent, text))
        self._show("\n")

    def _show(self, text: str) -> None:
        if self.rank == 0:
            log.raw(text)

    def _items(self, kind: str) -> list[Value]:
        if kind == "shards":
            return list(range(int(self.stack.numbers["shards"])))
        if kind == "tokens":
            return [64, 48, 32, 28, 24, 20, 16, 12, 8, 4]
        return list(reversed(self.stack.batches)) or [1]


def killed(include_parent: bool) -> None:
    """Say, where the version does, that the process tree is killed."""
    if behaves("kill_line"):
        pid = os.getpid()
        log.line(f"kill_process_tree called: parent_pid={pid}, include_parent={include_parent}, pid={pid}")
