"""Asks servers whether they are healthy, holds their answers against what is kept, and marks what failed."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dsv4deploy.cli import house, serving
from dsv4deploy.flow import looked_at
from dsv4deploy.model.checked import Checkup
from dsv4deploy.model.diagnostic import Refused
from dsv4deploy.model.event import Kind
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.history import UnknownVersionError
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.node.checks import every
from dsv4deploy.rim import ansible, answers, marks
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages import checkup as stage
from dsv4deploy.stages.marks import mark_of
from dsv4deploy.views import health as view


@dataclass(frozen=True, slots=True)
class Asked:
    """What was asked of all nodes: the checkups by node, and one line for each node without one."""

    checkups: Mapping[str, Checkup]
    lost: tuple[str, ...]


def fleet(options: ansible.Options, name: str | None, *, capacity: bool, only: Sequence[str]) -> tuple[str, Asked]:
    """Ask every node of the inventory that has the deployment.

    Raises:
        Trouble: no node has it, or it is not clear which is meant.
    """
    seen = serving.seen(options)
    chosen = serving.meant(seen, name)
    nodes = [node for node, _, _ in serving.deployments(seen, chosen)]
    told = serving.ask(options, nodes, "check", chosen, dsv4_capacity=capacity, dsv4_only=list(only))
    lost = list(serving.unreachable(seen))
    checkups = {}
    for node in nodes:
        event = told.get(node)
        if event is not None and event.kind is Kind.OK:
            checkups[node] = _with_memory(Checkup.model_validate(event.answer["checkup"]))
        else:
            message = event.answer.get("msg") if event else None
            lost.append(f"{node}  {chosen}  {message or 'no answer'}")
    return chosen, Asked(checkups, tuple(lost))


def _with_memory(checkup: Checkup) -> Checkup:
    """The checkup with the cards' memory held against the memory account of the release's profile."""
    if not checkup.cards or not checkup.manifest.get("profile"):
        return checkup
    least = int(min(card.total_mib for card in checkup.cards))
    try:
        looked = house.released(checkup.manifest["profile"], Facts(gpu_memory_mib=least))
    except (Refused, Trouble):
        return checkup
    found = stage.memory_as_predicted(checkup, looked.memory)
    state = "bad" if found.state == "bad" else checkup.state
    return checkup.model_copy(update={"checks": (*checkup.checks, found), "state": state})


def _address(url: str) -> tuple[str, int]:
    try:
        parts = urlsplit(url if "//" in url else f"//{url}")
        host, port = parts.hostname, parts.port
    except ValueError:
        host, port = None, None
    if not host or parts.scheme not in {"", "http"}:
        raise Trouble(f"{url} is no address of a server", "--url http://127.0.0.1:30000", Exit.USAGE)
    return host, port or 80


def one(url: str, profile: Path | None, key: Path | None, *, capacity: bool, only: Sequence[str]) -> Checkup:
    """Ask the server at `url`, by the health section of `profile`.

    Raises:
        Refused: the profile has no shape that could be judged.
        Trouble: the address is none, or a file cannot be read.
    """
    host, port = _address(url)
    request: dict[str, Any] = {"host": host, "port": port, "only": list(only)}
    manifest: dict[str, Any] = {}
    if profile:
        looked = looked_at(Files(), house.knowledge(profile), house.asked(profile, [], [], None, []))
        manifest = json.loads(house.bundle(looked).manifest.text)
        section = looked.profile.health.model_dump(mode="json")
        request |= {"health": section, "argv": manifest["argv"], "model": manifest["model"]["served_name"]}
        request["rehearsal"] = looked.profile.engine.rehearsal
    if capacity:
        request["health"] = {**request.get("health", {}), "capacity": True}
    if key:
        request["api_key"] = Files().read(str(key)).decode().strip()
    return Checkup.model_validate({**every.run(request), "manifest": manifest})


def report(asked: Asked, before: Asked, name: str, *, mark: bool, as_json: bool, watch: bool) -> str:
    """What to say of a round: all of the first one, of a later one what is not as it was; failures are marked."""
    changes = {node: asked.checkups[node] for node in view.changed(before.checkups, asked.checkups)}
    lost = asked.lost if asked.lost != before.lost else ()
    if not changes and not lost:
        return ""
    told = {node: [*notes(one), *filter(None, [marked(node, one) if mark else None])] for node, one in changes.items()}
    if as_json:
        return json.dumps(view.machine(changes, told, lost), indent=None if watch else 2) + "\n"
    at = f"{datetime.now():%Y-%m-%d %H:%M:%S}\n" if watch else ""  # noqa: DTZ005 (a person's own clock)
    return "".join([at, view.render(name, changes, told), *(f"{line}\n" for line in lost)])


def notes(checkup: Checkup) -> tuple[str, ...]:
    """What there is to say beside the checks; good answers are kept as the reference of their model and stack."""
    manifest, told = checkup.manifest, []
    engine = manifest.get("engine") or {}
    told += _changed(checkup, engine.get("version"))
    model = (manifest.get("model") or {}).get("path") or checkup.settings.get("model_path")
    key = " ".join(str(part) for part in (model, engine.get("version"), engine.get("build")) if part)
    before = answers.kept(key)
    told += [
        f"the {kind} answer is another one than before (kept in .dsv4deploy)"
        for kind in stage.unlike(before, checkup.texts)
    ]
    if not before and checkup.state == "good" and checkup.texts:
        try:
            answers.keep(key, dict(checkup.texts))
        except Trouble as trouble:  # what was asked is answered all the same
            told.append(f"later answers cannot be held against these: {trouble.message}")
    return tuple(told)


def marked(node: str, checkup: Checkup) -> str | None:
    """Write a mark of a failed check that speaks of the configuration, and say where; None if there is nothing to mark."""
    failed = stage.failure(checkup)
    if failed is None or not checkup.manifest.get("profile"):
        return None
    try:
        looked = house.released(checkup.manifest["profile"])
    except (Refused, Trouble):
        return "not marked: the profile of this release cannot be read here"
    at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    mark = mark_of(looked.candidate, failed, looked.report, name=looked.profile.name, node=node, at=at)
    path, _ = marks.keep(mark, Path())
    return f"marked known-bad: {path}"


def code(asked: Asked) -> int:
    """The exit code of all checkups together."""
    if asked.lost:
        return Exit.APPLY_FAILED
    return Exit.FINE if all(one.state == "good" for one in asked.checkups.values()) else Exit.FOUND


def _changed(checkup: Checkup, version: str | None) -> list[str]:
    if not version or not checkup.settings:
        return []
    try:
        defaults = house.knowledge().catalogues.of(version, None).defaults
    except (UnknownVersionError, Trouble):
        return []
    found = stage.changed(checkup, [str(word) for word in checkup.manifest.get("argv") or ()], defaults)
    return [f"changed by the engine itself: {one}" for one in found]
