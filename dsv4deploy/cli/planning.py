"""Plans for nodes: what each shall run is checked and rendered, each is looked at, and what would change is decided."""

import json
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from dsv4deploy.cli import fleet, house
from dsv4deploy.cli.told_by_node import facts_for, with_node
from dsv4deploy.flow import Asked, Knowledge, Looked, looked_at
from dsv4deploy.model.bundle import readable
from dsv4deploy.model.diagnostic import Level
from dsv4deploy.model.observed import Observation
from dsv4deploy.model.plan import Action, Change, Plan, Step, Wanted
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible, bundles
from dsv4deploy.rim.plan_file import Planned
from dsv4deploy.rim.project import MarkFiles
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages.assign import Assignment, Host, assign, machines, overlaps
from dsv4deploy.stages.marks import PREFIX, last_success
from dsv4deploy.stages.outcome import code, passed_over
from dsv4deploy.stages.plan import plan

_USUAL_PROFILE = "profile.yaml"


@dataclass(frozen=True, slots=True)
class Ready:
    """Everything an apply needs: what is wanted, where its files are, what was seen, and the plan.

    `asked` and `looked` go by node and name: the question about each profile, and what is told with the node's facts.
    """

    wanted: tuple[Wanted, ...]
    folders: Mapping[str, Path]
    seen: Mapping[str, Observation | str]
    plan: Plan
    gone: frozenset[str]
    asked: Mapping[tuple[str, str], Asked] = field(default_factory=dict)
    looked: Mapping[tuple[str, str], Looked] = field(default_factory=dict)

    @property
    def refused_code(self) -> Exit:
        """What it means that the plan refuses something: a mark says no, or a node does."""
        return code(passed_over(self.plan.refused))

    def by_node(self, steps: Sequence[Step]) -> dict[str, dict[str, Any]]:
        """The variables of each node that has work: its bundles, and the release that must still be current."""
        found: dict[str, dict[str, Any]] = {}
        for step in steps:
            mine = found.setdefault(step.node, {"dsv4_bundles": [], "dsv4_expect": {}, "dsv4_restart": False})
            mine["dsv4_bundles"].append(str(self.folders[step.release]))
            mine["dsv4_expect"][step.name] = step.current
            mine["dsv4_restart"] = mine["dsv4_restart"] or (
                step.action is Action.RESTART and step.current == step.release
            )
        return found


@dataclass(frozen=True, slots=True)
class Over:
    """What the command line lays over every profile."""

    variants: tuple[str, ...]
    sets: tuple[str, ...]
    waive: tuple[str, ...]
    retry: tuple[str, ...] = ()


def ready(
    folder: Path,
    options: ansible.Options,
    profile: Path | None,
    *,
    variants: Sequence[str] = (),
    sets: Sequence[str] = (),
    waive: Sequence[str] = (),
    retry: Sequence[str] = (),
    take_over: bool = False,
    checksums: bool = False,
    as_json: bool = False,
) -> Ready:
    """Check and render what every node shall run, look at the nodes, and plan.

    Raises:
        Refused: a profile has no shape that could be judged.
        Trouble: a profile is known to be bad, two of them meet on one node, or something cannot be read.
    """
    hosts = ansible.hosts(options)
    over = Over(tuple(variants), tuple(sets), tuple(waive), tuple(retry))
    asked = _asked(hosts, options, profile, over)
    knowledge = _knowledge(asked.values())
    _see_that_they_exist(retry, {one.path for one in asked.values()})
    # Only what a node says of its host decides what the marks say.
    looked = {
        one: _sound(knowledge[one.path]._replace(marks=None), one, as_json=as_json)
        for one in dict.fromkeys(asked.values())
    }
    folders, wanted = _rendered(folder, asked, looked)
    told = overlaps(wanted, machines(hosts))
    if told:
        raise Trouble("; ".join(told), "give each deployment names, cards and ports of its own", Exit.FOUND)
    seen = fleet.observe(options, _folders_by_node(wanted, folders), take_over=take_over, checksums=checksums)
    gone = fleet.gone_from(seen)
    planned = plan(wanted, seen, gone=gone)
    closer = {
        (step.node, step.name): looked_at(
            Files(),
            knowledge[asked[step.node, step.name].path],
            with_node(asked[step.node, step.name], step.name, seen[step.node]),
        )
        for step in planned.steps
    }
    decided = tuple(
        _decided(step, asked[key], looked[asked[key]], closer[key])
        for step in planned.steps
        for key in [(step.node, step.name)]
    )
    return Ready(wanted, folders, seen, Plan(decided), gone, asked, closer)


def _asked(
    hosts: Sequence[Host],
    options: ansible.Options,
    profile: Path | None,
    over: Over,
) -> dict[tuple[str, str], Asked]:
    """What is asked about each profile, by node and path for now."""
    usual = _USUAL_PROFILE if Path(_USUAL_PROFILE).exists() else None
    base = Path(options.inventories[0])
    base = base if base.is_dir() else base.parent

    def of(one: Assignment) -> Asked:
        path = os.path.normpath(base / one.profile) if one.from_inventory else one.profile
        words = house.asked(Path(path), (*one.variants, *over.variants), (*one.sets, *over.sets), None, over.waive)
        return replace(words, retry=over.retry)

    return {(one.node, one.profile): of(one) for one in assign(hosts, str(profile) if profile else None, usual)}


def _knowledge(asked: Iterable[Asked]) -> dict[str, Knowledge]:
    """What is known beside each profile, by its path; profiles of one folder share it."""
    paths = {one.path: Path(one.path) for one in asked}
    beside = {folder: house.knowledge(folder / "profile.yaml") for folder in {path.parent for path in paths.values()}}
    return {text: beside[path.parent] for text, path in paths.items()}


def _sound(knowledge: Knowledge, asked: Asked, *, as_json: bool) -> Looked:
    looked = looked_at(Files(), knowledge, asked)
    if looked.report.blocks:
        house.show(looked.report, looked.sources, as_json=as_json, fine="")
        raise Trouble(
            f"{asked.path} is known to be bad",
            "mend it, or waive a rule with its reason; no node was touched",
            Exit.FOUND,
        )
    if looked.profile.engine.container:
        raise Trouble(
            f"{asked.path} runs a container, and containers cannot be applied yet",
            "render it, and start its serve.sh where you start containers",
            Exit.FOUND,
        )
    return looked


def _rendered(
    folder: Path, asked: dict[tuple[str, str], Asked], looked: Mapping[Asked, Looked]
) -> tuple[dict[str, Path], tuple[Wanted, ...]]:
    """Write each bundle once; from here on `asked` goes by node and name."""
    folders: dict[str, Path] = {}
    wanted = []
    for (node, path), one in list(asked.items()):
        bundle = house.bundle(looked[one])
        if bundle.digest not in folders:
            folders[bundle.digest] = folder / f"{bundle.name}-{bundle.digest[:12]}"
            bundles.write(bundle, folders[bundle.digest])
        found = {file.path: readable(file.text) for file in bundle.artifacts}
        texts = {path: text for path, text in found.items() if text is not None}
        wanted.append(Wanted(node, json.loads(bundle.manifest.text), texts))
        del asked[node, path]
        asked[node, bundle.name] = one
    return folders, tuple(wanted)


def _folders_by_node(wanted: Sequence[Wanted], folders: Mapping[str, Path]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in wanted:
        found.setdefault(one.node, []).append(str(folders[one.digest]))
    return found


def _see_that_they_exist(ids: Sequence[str], profiles: Iterable[str]) -> None:
    """Refuse to try a mark again that is not there: a slip of the pen would be refused without a word.

    Raises:
        Trouble: there is no such mark.
    """
    files = MarkFiles()
    known = {mark.id for path in profiles for kind in (False, True) for mark in files.beside(path, rehearsal=kind)}
    for one in ids:
        if one not in known:
            raise Trouble(f"there is no mark {one}", "dsv4deploy marks list", Exit.USAGE)


def _decided(step: Step, asked: Asked, first: Looked, looked: Looked) -> Step:
    """Refuse a step whose rules are broken, or that a mark speaks against, now that the node's facts are known.

    Warnings that only those facts decide are told with the step.
    """
    if step.action in {Action.NONE, Action.REFUSE, Action.UNREACHABLE}:
        return step
    step = replace(step, warnings=(*step.warnings, *_news(first, looked)))
    errors = [one for one in looked.report.diagnostics if one.level is Level.ERROR and not one.rule.startswith(PREFIX)]
    if errors:
        return replace(step, action=Action.REFUSE, changes=tuple(Change(one.rule, one.message) for one in errors))
    before = last_success(looked.candidate, MarkFiles().successes(asked.path))
    ran = [f"this exact configuration ran on this stack on {before.at[:10]} ({before.node})"] if before else []
    return _refused_by_marks(replace(step, notes=(*step.notes, *ran)), looked)


def _news(before: Looked, now: Looked) -> Iterable[str]:
    """The warnings that only the node's facts decide."""
    said = {one.rule for one in before.report.diagnostics}
    return (
        f"{one.message} ({one.rule})"
        for one in now.report.diagnostics
        if one.level is Level.WARNING and one.rule not in said and not one.rule.startswith(PREFIX)
    )


def _refused_by_marks(step: Step, looked: Looked | None) -> Step:
    """Refuse a step that a mark speaks against; what it says of another stack is a note."""
    if looked is None or step.action in {Action.NONE, Action.REFUSE, Action.UNREACHABLE}:
        return step
    marks = [one for one in looked.report.diagnostics if one.rule.startswith(PREFIX)]
    against = [one for one in marks if one.level is not Level.NOTE]
    if step.action is Action.IN_PLACE:  # nothing is started that could fail again
        return replace(step, warnings=(*step.warnings, *(one.message for one in against)))
    if against:
        changes = tuple(Change(one.rule, f"{one.message}\n      = {one.remedy}") for one in against)
        return replace(step, action=Action.REFUSE, changes=changes)
    return replace(step, notes=(*step.notes, *(one.message for one in marks)))


def planned_before(
    kept: Planned,
    options: ansible.Options,
    *,
    retry: Sequence[str] = (),
    take_over: bool = False,
    checksums: bool = False,
) -> Ready:
    """A plan that was kept, looked at again; what was marked since is refused.

    Raises:
        Trouble: a node moved since, so that something else would happen than what was planned.
    """
    by_node = _folders_by_node(kept.wanted, kept.folders)
    seen = fleet.observe(options, by_node, take_over=take_over, checksums=checksums)
    gone = fleet.gone_from(seen)
    again = plan(kept.wanted, seen, gone=gone)
    for step, before in zip(again.steps, kept.steps, strict=True):
        if (step.node, step.name, step.action.value, step.release, step.current) != before:
            raise Trouble(
                f"{step.node} moved since the plan: {step.name} was to {before[2]}, and now it is {step.action.value}",
                "plan again",
                Exit.APPLY_FAILED,
            )
    _see_that_they_exist(retry, [house.RELEASED])
    questions = {(one.node, one.name): Asked(house.RELEASED, retry=tuple(retry)) for one in kept.wanted}
    profiles = {(one.node, one.name): one.manifest.get("profile") or {} for one in kept.wanted}
    looked = {
        key: house.released(profiles[key], facts_for(key[1], seen[key[0]]), retry) for key in questions if profiles[key]
    }
    decided = (_refused_by_marks(step, looked.get((step.node, step.name))) for step in again.steps)
    return Ready(kept.wanted, kept.folders, seen, Plan(tuple(decided)), gone, questions, looked)
