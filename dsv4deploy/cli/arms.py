"""Where the starts of experiments and bisections are made: equal nodes of an inventory, this machine, or a rehearsal."""

import hashlib
import os
import pwd
import socket
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Protocol

from dsv4deploy.cli import fleet, house
from dsv4deploy.cli.fleet_options import Reach
from dsv4deploy.cli.launching import Node
from dsv4deploy.cli.remote_node import RemoteNode, surveyed
from dsv4deploy.cli.told_by_node import facts_for
from dsv4deploy.flow import Knowledge, Looked, looked_at
from dsv4deploy.model.document import Overlay
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.observed import Observation
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible
from dsv4deploy.rim.local_node import LocalNode
from dsv4deploy.rim.project import FOLDER
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages.equal_nodes import chosen


@dataclass(frozen=True, slots=True)
class Where:
    """What a command line says about where starts are made."""

    reach: Reach
    local: bool = False
    world: Path | None = None
    only_look: bool = False

    @property
    def here(self) -> bool:
        """Whether it is this machine."""
        return self.local or self.world is not None


@dataclass(frozen=True, slots=True)
class Survey:
    """The nodes on which starts are made, what they say of themselves, and what there is to tell about the choice.

    `on_trial` are deployments by node that somebody who was killed has left on trial, `in_the_way` what holds cards or
    ports that a start needs.
    """

    nodes: tuple[Node, ...]
    facts: Facts = field(default_factory=Facts)
    told: tuple[str, ...] = ()
    on_trial: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    in_the_way: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def left(self, node: str, own: Iterable[str]) -> set[str]:
        """What was left on trial on a node and must end before anything starts there: our `own`, and what is in the way."""
        return set(self.on_trial.get(node, ())) & {*own, *self.in_the_way.get(node, ())}


class Ground(Protocol):
    """Where starts are made."""

    def over(self, looked: Looked, /) -> tuple[str, ...]:
        """What must be laid over a profile so that it starts there."""

    def survey(self, looked: Looked, /) -> Survey:
        """The nodes, with an eye to what shall run; raises `Trouble` where it cannot run anywhere."""


def ground(where: Where, project: Path) -> Ground:
    """Where the starts of one command are made."""
    if where.only_look:
        return Nowhere()
    if where.here:
        return Here(project, where.world)
    try:
        options = where.reach.options()
    except Trouble as trouble:
        raise Trouble(
            trouble.message, f"{trouble.remedy}; or start it on this machine: --local", trouble.code
        ) from None
    return Inventory(options)


class Nowhere:
    """No place at all: the starts are only looked at."""

    def over(self, _looked: Looked) -> tuple[str, ...]:
        """Nothing."""
        return ()

    def survey(self, _looked: Looked) -> Survey:
        """No nodes."""
        return Survey((), told=("nothing is started",))


class Here:
    """This machine; a rehearsal where a world is given or the engine of the profile is not here, and it says so."""

    def __init__(self, project: Path, world: Path | None) -> None:
        self._project, self._world = project, world

    def over(self, looked: Looked) -> tuple[str, ...]:
        """A process of the user who asks, on a port of its own, with the engine that is here."""
        user = pwd.getpwuid(os.getuid()).pw_name
        sets = ["service.supervisor=process", f"service.user={user}", f"server.port={self._port}"]
        sets.append("server.host=127.0.0.1")
        if self._pretends(looked):
            venv = _rehearsal(self._project, looked.profile.engine.version, self._world)
            sets += [f"engine.venv={venv}", "engine.rehearsal=true", "nccl.env_file=null", "kernels.patches=[]"]
            sets += ["env.DSV4_REHEARSAL_SPEED=20"] if "DSV4_REHEARSAL_SPEED" not in looked.profile.env else []
        return tuple(sets)

    def survey(self, looked: Looked) -> Survey:
        """This machine, and of its facts what a rehearsal does not pretend to have otherwise."""
        node, engine = LocalNode(self._project / FOLDER / "local"), looked.profile.engine
        pretends = self._pretends(looked)
        seen = node.observed(None if pretends else house.bundle(looked))
        gone = fleet.gone_from({node.name: seen})
        if busy := _busy(seen, gone):
            raise Trouble(busy, "wait for it", Exit.APPLY_FAILED)
        node.holder = fleet.holder(uuid.uuid4().hex, gone)
        if not pretends:
            told = f"on this machine, with {engine.venv}"
            return Survey((node,), facts_for(looked.profile.name, seen), (told,), _on_trial({node.name: seen}))
        why = f"the world of {self._world}" if self._world else f"{engine.venv} is not on this machine"
        told = f"a rehearsal of SGLang {engine.version} on this machine ({why}): it proves nothing about hardware"
        return Survey((node,), told=(told,), on_trial=_on_trial({node.name: seen}))

    def _pretends(self, looked: Looked) -> bool:
        venv = looked.profile.engine.venv
        return self._world is not None or not venv or not Path(venv, "bin/python").exists()

    @cached_property
    def _port(self) -> int:
        with socket.socket() as one:
            one.bind(("127.0.0.1", 0))
            port: int = one.getsockname()[1]
            return port


@dataclass(frozen=True, slots=True)
class Inventory:
    """The nodes of an inventory that are equal in what matters."""

    options: ansible.Options

    def over(self, _looked: Looked) -> tuple[str, ...]:
        """Nothing: a profile runs on its nodes as it is."""
        return ()

    def survey(self, looked: Looked) -> Survey:
        """The first node that is fit, and all that are equal to it, in one trip.

        Raises:
            Trouble: no node is fit.
        """
        nodes = RemoteNode.all_of(self.options)
        name = looked.profile.name
        seen = surveyed(self.options, nodes, house.bundle(looked))
        facts = {node: facts_for(name, one) for node, one in seen.items() if isinstance(one, Observation)}
        gone = fleet.gone_from(seen)
        unfit = {node: why for node, one in seen.items() if (why := _unfit(one, name, gone))}
        found = chosen({node: facts.get(node, Facts()) for node in seen}, unfit)
        if not found.nodes:
            raise Trouble("; ".join(found.told), "mend that, or name other nodes with -i", Exit.APPLY_FAILED)
        told = found.told if len(nodes) > 1 else (f"on {nodes[0].name}",)
        holder = fleet.holder(uuid.uuid4().hex, gone)
        taken = tuple(replace(node, holder=holder) for node in nodes if node.name in found.nodes)
        return Survey(taken, facts[found.nodes[0]], told, _on_trial(seen), _in_the_way(seen, name))


def _on_trial(seen: Mapping[str, Observation | str]) -> dict[str, tuple[str, ...]]:
    return {
        node: tuple(name for name, one in found.deployments.items() if one.pending)
        for node, found in seen.items()
        if isinstance(found, Observation)
    }


def _in_the_way(seen: Mapping[str, Observation | str], name: str) -> dict[str, frozenset[str]]:
    return {
        node: frozenset(one.other for one in found.wanted[name].problems)
        for node, found in seen.items()
        if isinstance(found, Observation) and name in found.wanted
    }


def _busy(seen: Observation, gone: frozenset[str]) -> str:
    """Who works there now, and on what; empty if nobody does."""
    locks = ((name, one.lock) for name, one in seen.deployments.items() if one.lock)
    told = (f"{lock.who} works on {name} since {lock.since}" for name, lock in locks if lock.token not in gone)
    return next(told, "")


def _unfit(seen: Observation | str, name: str, gone: frozenset[str]) -> str:
    """Why a node cannot run an arm.

    Cards and ports of the service that runs there are free once it is stopped, and those of a trial once it is swept.
    """
    if isinstance(seen, str):
        return seen
    if busy := _busy(seen, gone):
        return busy
    problems = seen.wanted[name].problems if name in seen.wanted else ()
    trials = {other for other, one in seen.deployments.items() if one.pending}
    return "; ".join(one.message for one in problems if one.other not in trials)


@dataclass(frozen=True, slots=True)
class Over:
    """What is laid over a profile: variants, changes that stand in other files, `--set` texts, and known facts."""

    variants: Sequence[str] = ()
    overlays: Sequence[Overlay] = ()
    sets: Sequence[str] = ()
    facts: Facts = field(default_factory=Facts)


def looked_with(knowledge: Knowledge, profile: str, over: Over) -> Looked:
    """A profile with changes laid over it."""
    asked = house.asked(Path(profile), over.variants, over.sets, None, ())
    return looked_at(Files(), knowledge, replace(asked, overlays=tuple(over.overlays), facts=over.facts))


def _rehearsal(project: Path, version: str, world: Path | None) -> Path:
    """A rehearsal of that version and world below the project; made once."""
    from dsv4deploy.cli.commands.rehearse import engine_files
    from dsv4deploy.rehearsal.install import install

    files = engine_files(version, world)
    digest = hashlib.sha256(repr(sorted(files.items())).encode()).hexdigest()[:12]
    folder = (project / FOLDER / "rehearsals" / f"{version}-{digest}").absolute()
    if not (folder / "bin/python").exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with suppress(OSError):
            (project / FOLDER / ".gitignore").write_text("*\n")
        install(folder, files)
    return folder
