"""Launches single starts for experiments and bisections: on trial, watched to the first decisive sign, and stopped for sure."""

import hashlib
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol, TextIO

from dsv4deploy.cli import house
from dsv4deploy.flow import Looked
from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.experiment import CHECK_FAILED, INFRASTRUCTURAL, PROGRESSING, REACHED, READY, Trial
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.node.checks import every
from dsv4deploy.node.stages import ORDER
from dsv4deploy.rim import ending
from dsv4deploy.rim.project import FOLDER
from dsv4deploy.stages.experiment import outcome_of
from dsv4deploy.stages.marks import key_of
from dsv4deploy.stages.ports import DEFAULT_PORT

_LOOK_S = 5.0
_CAPACITY = "capacity"
_MARGIN_S = 120.0
# Longer than a lost node is waited for, so that a node never takes back what a run still counts on.
_UNSEEN_S = 150.0
_RENEW_S = 40.0
_USUAL_LIMIT_S = 1800.0
Answer = Mapping[str, Any]
Tell = Callable[[str], object]


class Node(Protocol):
    """Where a start is made."""

    @property
    def name(self) -> str:
        """The node as the inventory has it."""

    @property
    def address(self) -> str:
        """Where its ports are reached from here."""

    def ask(self, verb: str, deployment: str, **more: Any) -> Answer:  # noqa: ANN401 (any JSON)
        """What the tool there answers; raises `Trouble` where it could not do it."""

    def put(self, bundle: Bundle) -> None:
        """Install a release."""


@dataclass(frozen=True, slots=True)
class Goal:
    """What a start must come to.

    Attributes:
        limit_s: seconds that it has; None for what its profile says.
        reach: stage at which it has come far enough; None if it must get ready.
        checks: health checks that it must pass once ready.
        command: a shell command that must succeed here once it is ready, with its address in `DSV4_URL`.
        least: tokens a second that it must reach once ready; 0 for none.
    """

    limit_s: float | None = None
    reach: str | None = None
    checks: tuple[str, ...] = ()
    command: str = ""
    least: float = 0.0


@dataclass(frozen=True, slots=True)
class Started:
    """How a start ended: in a word, as the judge had it, after how many seconds, and what was measured of it."""

    outcome: str
    answer: Answer
    seconds: float
    figures: Mapping[str, Any] = field(default_factory=dict)


def key(looked: Looked, goal: Goal) -> str:
    """What is started and asked of it, on which stack, with which engine: equal keys need not be launched twice."""
    engine = looked.profile.engine
    asked = f"{goal.reach} {goal.checks} {goal.command} {goal.least}"
    parts = f"{key_of(looked.candidate)} {engine.venv} {engine.rehearsal} {asked}"
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def aloud(out: TextIO) -> Tell:
    """Writes to `out` so that whoever follows it through a pipe reads each line when it is said."""

    def tell(text: str) -> None:
        out.write(text)
        out.flush()

    return tell


def limit_s(looked: Looked, goal: Goal) -> float:
    """Seconds that a start has."""
    return goal.limit_s or looked.profile.service.timeouts.start_s or _USUAL_LIMIT_S


def unanswerable(looked: Looked, goal: Goal) -> str:
    """Why a start could not be asked all that it is to be asked; empty if it can."""
    if _CAPACITY in goal.checks and looked.profile.health.longest_prompt is None:
        return f"the check {_CAPACITY} needs health.longest_prompt, which the profile does not give"
    return ""


def counts(trial: Trial, looked: Looked, goal: Goal) -> bool:
    """Whether a start that an earlier run made need not be made again.

    What stood in the way of one may be mended by now, and one that was late may have more time now.
    """
    late = trial.outcome == PROGRESSING and trial.seconds < limit_s(looked, goal) - 1
    return not late and trial.outcome != INFRASTRUCTURAL


def started(node: Node, looked: Looked, goal: Goal, tell: Tell, stopping: threading.Event | None = None) -> Started:
    """Start a profile on trial, watch it until it is decided or late, and stop it for sure.

    Raises:
        KeyboardInterrupt: `stopping` was set meanwhile.
        Trouble: the node refuses the release, or stays out of reach.
    """
    bundle = house.bundle(looked)
    limit = limit_s(looked, goal)
    node.put(bundle)
    began = time.monotonic()
    try:
        node.ask("switch", bundle.name, digest=bundle.digest, window_s=limit + _MARGIN_S)
        answer = _watched(node, bundle, _Watch(goal, began, began + limit, tell, stopping or threading.Event()))
        seconds = round(time.monotonic() - began, 1)
        return _passed(node, looked, goal, Started(_word(answer, goal), answer, seconds))
    finally:
        with unhurried():
            node.ask("restore", bundle.name, why="the trial is over")


@dataclass(frozen=True, slots=True)
class _Watch:
    """How long a start is watched and for what, who hears of it, and what ends it before."""

    goal: Goal
    began: float
    end: float
    tell: Tell
    stopping: threading.Event


def _watched(node: Node, bundle: Bundle, watch: _Watch) -> Answer:
    """What the judge says once it is decided, come far enough, or late."""
    stage = ""
    while True:
        left = watch.end - time.monotonic()
        answer = node.ask("wait", bundle.name, digest=bundle.digest, limit_s=max(0.5, min(_LOOK_S, left)))
        if watch.stopping.is_set():
            raise KeyboardInterrupt
        if answer.get("stage") != stage:
            stage = str(answer.get("stage"))
            watch.tell(f"{time.monotonic() - watch.began:6.1f} s  {stage}")
        if answer.get("state") != "progressing" or left <= 0 or _far_enough(answer, watch.goal):
            return answer


def _far_enough(answer: Answer, goal: Goal) -> bool:
    stage = str(answer.get("stage") or "")
    return goal.reach is not None and stage in ORDER and ORDER[stage] >= ORDER[goal.reach]


def _word(answer: Answer, goal: Goal) -> str:
    going = answer.get("state") in {READY, "progressing"} and not answer.get("late")
    return REACHED if going and _far_enough(answer, goal) else outcome_of(answer)


def _passed(node: Node, looked: Looked, goal: Goal, begun: Started) -> Started:
    """The same start, with what came of all that is asked once it is ready."""
    if begun.outcome != READY:
        return begun
    name, figures = looked.profile.name, {}
    failed = _unhealthy(node, name, goal.checks) if goal.checks else None
    if failed is None and goal.least:
        figures = dict(node.ask("measure", name, below=goal.least)["measured"])
        failed = _too_slow(figures, goal.least)
    if failed is None and goal.command:
        failed = _refused(goal.command, f"http://{node.address}:{looked.profile.server.port or DEFAULT_PORT}")
    if failed is None:
        return Started(READY, begun.answer, begun.seconds, figures)
    return Started(CHECK_FAILED, {**begun.answer, **failed}, begun.seconds, figures)


def _unhealthy(node: Node, name: str, only: tuple[str, ...]) -> Answer | None:
    """A failed health check in the words of a judged start; one that speaks of no configuration leaves no mark."""
    checks = node.ask("check", name, only=list(only), capacity=_CAPACITY in only)["checkup"]["checks"]
    bad = next((one for one in checks if one["state"] == "bad"), None)
    found = every.failure(checks)
    return found or (_no_mark(f"{bad['check']}: {bad['told']}", list(bad["details"])) if bad else None)


def _too_slow(figures: Answer, least: float) -> Answer | None:
    told = "{tokens_per_s} tokens/s, give or take {error} (95 %, {runs} runs)".format(**figures)
    return _no_mark(f"{told}: below {least:g}", []) if figures["tokens_per_s"] < least else None


def _refused(command: str, url: str) -> Answer | None:
    done = subprocess.run(["/bin/sh", "-c", command], env={**os.environ, "DSV4_URL": url}, check=False)
    return _no_mark(f"the command ended with {done.returncode}", []) if done.returncode else None


def _no_mark(why: str, lines: list[str]) -> Answer:
    return {"state": CHECK_FAILED, "class": None, "stage": "serve", "root": why, "why": why, "lines": lines}


def swept(node: Node, left: Iterable[str]) -> None:
    """End starts that somebody who was killed has left on trial: they hold our port and our cards."""
    for name in sorted(left):
        sys.stderr.write(f"{node.name}: {name} is ended: whoever started it is gone\n")
        node.ask("restore", name, why="whoever started it is gone")


@contextmanager
def aside(node: Node, name: str, project: Path, *, leave: bool, every_s: float = _RENEW_S) -> Iterator[None]:
    """Stop the deployment `name` where it runs, and start it again in the end, whatever happens between.

    The node is shown every `every_s` seconds that we are still here. Should this run be killed, the node starts it
    again once nobody was seen there for `_UNSEEN_S`. Should that fail, the next run does it: that it is stopped is
    written down here too.
    """
    note = project / FOLDER / "stopped" / f"{node.name}-{name}"
    runs = not leave and bool(node.ask("status", name).get("running"))
    try:
        if runs:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text("")
            sys.stderr.write(f"{node.name}: {name} is stopped for as long as this takes\n")
            node.ask("aside", name, window_s=_UNSEEN_S)
        with _renewed(node, name, every_s) if runs else nullcontext():
            yield
    finally:
        if note.exists():
            with unhurried():
                _brought_back(node, name)
            note.unlink()


@contextmanager
def _renewed(node: Node, name: str, every_s: float) -> Iterator[None]:
    """Show the node from time to time that we are still here, also while it has nothing else to do for us."""
    over = threading.Event()

    def renew() -> None:
        while not over.wait(every_s):
            with suppress(Trouble):  # a node that is lost for longer is told by whoever wants something of it
                node.ask("renew", name)

    renewing = threading.Thread(target=renew, daemon=True)
    renewing.start()
    try:
        yield
    finally:
        over.set()
        renewing.join(_RENEW_S)  # what is being asked comes to its end; a node that is lost is not waited for


def _brought_back(node: Node, name: str) -> None:
    try:
        node.ask("start", name)
    except Trouble as trouble:
        raise Trouble(
            f"{name} on {node.name} is still stopped: {trouble.message}",
            f"dsv4deploy start --name {name}",
            trouble.code,
        ) from None
    sys.stderr.write(f"{node.name}: {name} is started again\n")


@contextmanager
def interruptible() -> Iterator[None]:
    """Let Ctrl-C, SIGTERM and a lost terminal end the work with everything brought back; exit code 130."""
    try:
        with ending.heard_by(signal.default_int_handler):
            yield
    except KeyboardInterrupt:
        raise Trouble(
            "interrupted: what ran before runs again", "run it again; what is done counts", Exit.INTERRUPTED
        ) from None


@contextmanager
def unhurried() -> Iterator[None]:
    """Let what brings a node back come to its end; an interrupt is heard after it, and by the main thread alone."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    asked: list[int] = []
    with ending.heard_by(lambda heard, _: asked.append(heard)):
        yield
    if asked:
        raise KeyboardInterrupt
