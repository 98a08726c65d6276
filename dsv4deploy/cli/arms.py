"""Launches single starts for experiments and bisections: on a node or here, on trial, watched, and stopped for sure."""

import hashlib
import os
import pwd
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from dsv4deploy.cli import fleet, house
from dsv4deploy.cli.remote_node import RemoteNode
from dsv4deploy.flow import Knowledge, Looked, looked_at
from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.local_node import LocalNode
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages.marks import key_of
from dsv4deploy.stages.ports import DEFAULT_PORT

_LOOK_S = 5.0
_MARGIN_S = 120.0
_USUAL_LIMIT_S = 1800.0
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FOLDER = Path(".dsv4deploy")
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
class Started:
    """How a start ended: the judge's answer, the seconds that it took, and whether it passed what was asked of it."""

    answer: Answer
    seconds: float
    passed: bool = True


@dataclass(frozen=True, slots=True)
class Ground:
    """Where starts are made, and what must be laid over a profile so that it starts there."""

    node: Node
    sets: tuple[str, ...] = ()
    told: str = ""


def here(project: Path, looked: Looked, world: Path | None) -> Ground:
    """This machine; a rehearsal where `world` is given or the engine of the profile is not here, and it says so."""
    user = pwd.getpwuid(os.getuid()).pw_name
    sets = [
        "service.supervisor=process",
        f"service.user={user}",
        f"server.port={_free_port()}",
        "server.host=127.0.0.1",
    ]
    engine = looked.profile.engine
    told = f"on this machine, with {engine.venv}"
    if world is not None or not engine.venv or not Path(engine.venv, "bin/python").exists():
        venv = _rehearsal(project, engine.version, world)
        sets += [f"engine.venv={venv}", "engine.rehearsal=true", "nccl.env_file=null", "kernels.patches=[]"]
        sets += ["env.DSV4_REHEARSAL_SPEED=20"] if "DSV4_REHEARSAL_SPEED" not in looked.profile.env else []
        why = f"the world of {world}" if world else f"{engine.venv} is not on this machine"
        told = f"a rehearsal of SGLang {engine.version} on this machine ({why}): it proves nothing about hardware"
    return Ground(LocalNode(project / _FOLDER / "local"), tuple(sets), told)


@dataclass(frozen=True, slots=True)
class Where:
    """What a command line says about where starts are made."""

    inventories: tuple[str, ...] = ()
    limit: str | None = None
    become: bool = False
    ask_become_pass: bool = False
    local: bool = False
    world: Path | None = None

    @property
    def here(self) -> bool:
        """Whether it is this machine."""
        return self.local or self.world is not None


def ground(where: Where, *, only_look: bool = False) -> Callable[[Path, Looked], Ground]:
    """Where the starts of one command are made, given the project and the profile; nowhere to only look."""
    if where.here:
        return partial(here, world=where.world)
    if only_look:
        return lambda project, _: Ground(LocalNode(project / _FOLDER / "local"), (), "nothing is started")
    options = fleet.options(
        where.inventories, limit=where.limit, become=where.become, ask_become_pass=where.ask_become_pass
    )
    node = RemoteNode.of(options)
    return lambda _project, _looked: Ground(node, (), f"on {node.name}")


def looked_with(knowledge: Knowledge, profile: str, variants: Sequence[str], sets: Sequence[str]) -> Looked:
    """A profile with changes laid over it."""
    return looked_at(Files(), knowledge, house.asked(Path(profile), variants, sets, None, ()))


def key(looked: Looked) -> str:
    """What is started, on which stack, with which engine: equal keys need not be launched twice."""
    engine = looked.profile.engine
    parts = f"{key_of(looked.candidate)} {engine.venv} {engine.rehearsal}"
    return hashlib.sha256(parts.encode()).hexdigest()[:16]


def started(node: Node, looked: Looked, limit_s: float | None, tell: Tell, check: str = "") -> Started:
    """Start a profile on trial, watch it until the first decisive sign or the deadline, and stop it for sure.

    `check` is a shell command that is run here once the server is ready, with its address in `DSV4_URL`.
    """
    bundle = house.bundle(looked)
    limit = limit_s or looked.profile.service.timeouts.start_s or _USUAL_LIMIT_S
    node.put(bundle)
    began = time.monotonic()
    answer: Answer = {}
    try:
        node.ask("switch", bundle.name, digest=bundle.digest, window_s=limit + _MARGIN_S)
        stage = ""
        while True:
            left = limit - (time.monotonic() - began)
            answer = node.ask("wait", bundle.name, digest=bundle.digest, limit_s=max(0.5, min(_LOOK_S, left)))
            if answer.get("stage") != stage:
                stage = str(answer.get("stage"))
                tell(f"{time.monotonic() - began:6.1f} s  {stage}")
            if answer.get("state") != "progressing" or left <= 0:
                seconds = round(time.monotonic() - began, 1)
                url = f"http://{node.address}:{looked.profile.server.port or DEFAULT_PORT}"
                return Started(answer, seconds, not check or answer.get("state") != "ready" or _passes(check, url))
    finally:
        with unhurried():
            node.ask("restore", bundle.name, why="the trial is over")


@contextmanager
def aside(node: Node, name: str, project: Path, *, leave: bool) -> Iterator[None]:
    """Stop the deployment `name` where it runs, and start it again in the end, whatever happens between.

    That it is stopped is written down, so that the next run starts it again should this one be killed.
    """
    note = project / _FOLDER / "stopped" / f"{node.name}-{name}"
    runs = not leave and bool(node.ask("status", name).get("running"))
    if runs:
        note.parent.mkdir(parents=True, exist_ok=True)
        note.write_text("")
        sys.stderr.write(f"{node.name}: {name} is stopped for as long as this takes\n")
        node.ask("stop", name)
    try:
        yield
    finally:
        if note.exists():
            with unhurried():
                _brought_back(node, name)
            note.unlink()


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

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = {number: signal.signal(number, interrupt) for number in _ENDING}
    try:
        yield
    except KeyboardInterrupt:
        raise Trouble(
            "interrupted: what ran before runs again", "run it again; what is done counts", Exit.INTERRUPTED
        ) from None
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def unhurried() -> Iterator[None]:
    """Let what brings a node back come to its end; an interrupt is heard after it."""
    asked: list[int] = []
    before = {number: signal.signal(number, lambda heard, _: asked.append(heard)) for number in _ENDING}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if asked:
        raise KeyboardInterrupt


def _passes(check: str, url: str) -> bool:
    return subprocess.run(["/bin/sh", "-c", check], env={**os.environ, "DSV4_URL": url}, check=False).returncode == 0


def _rehearsal(project: Path, version: str, world: Path | None) -> Path:
    """A rehearsal of that version and world below the project; made once."""
    from dsv4deploy.cli.commands.rehearse import engine_files
    from dsv4deploy.rehearsal.install import install

    files = engine_files(version, world)
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    folder = (project / _FOLDER / "rehearsals" / f"{version}-{digest}").absolute()
    if not (folder / "bin/python").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            (project / _FOLDER / ".gitignore").write_text("*\n")
        install(folder, files)
    return folder


def _free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
