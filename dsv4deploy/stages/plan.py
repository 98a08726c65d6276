"""Bundles and what was observed to a plan: every change with its reason, or no change at all."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dsv4deploy.model.bundle import JUDGING
from dsv4deploy.model.observed import Against, Deployment, Laying, Observation
from dsv4deploy.model.plan import Action, Change, Plan, Step, Wanted
from dsv4deploy.node.scrub import scrubbed, secrets_of


def plan(
    wanted: Sequence[Wanted], seen: Mapping[str, Observation | str], *, gone: frozenset[str] = frozenset()
) -> Plan:
    """What has to happen so that every node runs what is wanted there.

    Args:
        wanted: one bundle for each deployment on each node.
        seen: what each node answered, or why it did not.
        gone: tokens of applies whose controller is known to be dead, so that their locks do not count.
    """
    return Plan(tuple(_step(one, seen.get(one.node, "no answer"), gone) for one in wanted))


def _step(wanted: Wanted, seen: Observation | str, gone: frozenset[str]) -> Step:
    if isinstance(seen, str):
        return Step(wanted.node, wanted.name, Action.UNREACHABLE, (Change("node", seen),), wanted.digest)
    has = seen.deployments.get(wanted.name, Deployment())
    against = seen.wanted.get(wanted.name, Against())
    action, changes = _decided(wanted, has, against, gone)
    laying = against.patches if action in {Action.FIRST, Action.RESTART, Action.START} else ()
    return Step(
        wanted.node,
        wanted.name,
        action,
        tuple(changes),
        wanted.digest,
        has.current,
        has.start_seconds[-1] if has.start_seconds else None,
        tuple(one.message for one in against.warnings),
        (*map(_laying, laying), *against.notes),
    )


def _laying(package: Laying) -> str:
    """What becomes of a package that patches change, and what that takes."""
    if package.how == "in place":
        return f"patches change {package.name} in the venv itself"
    if package.how == "unpacked":
        return f"patches bring another {package.name}, from a wheel"
    size = f"{package.files:,} files, {(package.bytes or 0) / 2**20:.0f} MiB"
    room = "by hard links, which take no room" if package.how == "linked" else "file by file, which takes that room"
    last = f"; the last one took {package.seconds:.0f} s" if package.seconds is not None else ""
    return f"patches go over a copy of {package.name} ({size}) {room}{last}"


def _decided(
    wanted: Wanted, has: Deployment, against: Against, gone: frozenset[str]
) -> tuple[Action, Sequence[Change]]:
    locked = worked_on(has, gone)
    if locked:
        return Action.REFUSE, [locked]
    if against.problems:
        return Action.REFUSE, [
            Change(one.check, f"{one.message}: {one.remedy}" if one.remedy else one.message) for one in against.problems
        ]
    if has.pending and has.pending.to == wanted.digest and has.running:
        return Action.JUDGE, [Change("trial", f"started at {has.pending.since}, and nobody has confirmed it yet")]
    if has.current is None:
        return Action.FIRST, [Change(entry["path"], "not on this node yet") for entry in wanted.manifest["files"]]
    if has.current != wanted.digest:
        return (Action.RESTART if has.running else Action.START), differences(wanted, has)
    return _same_release(wanted, has)


def worked_on(has: Deployment, gone: frozenset[str]) -> Change | None:
    """That somebody else works on the deployment now; None if nobody does, or only those that are `gone`."""
    lock = has.lock
    if lock is None or lock.token in gone:
        return None
    return Change("lock", f"{lock.who} applies here since {lock.since}, seen {lock.seen_s:.0f} s ago")


def _same_release(wanted: Wanted, has: Deployment) -> tuple[Action, Sequence[Change]]:
    drift = [Change(one.path, f"{one.what}, though nobody applied that") for one in has.drift]
    drift += _judging(wanted, has)
    if has.running is None:
        state = (has.unit and has.unit.result) or (has.unit and has.unit.active) or "stopped"
        return Action.START, [*drift, Change("process", f"it does not run ({state})")]
    if has.running.as_written is False:
        return Action.RESTART, [
            *drift,
            Change("process", "what runs is not what the files say: it was started otherwise"),
        ]
    return (Action.IN_PLACE, drift) if drift else (Action.NONE, ())


def differences(wanted: Wanted, has: Deployment) -> list[Change]:
    """How the bundle differs from the release that the node has: arguments, variables, then files; no secret is told."""
    old, new = has.manifest, wanted.manifest
    secrets = [
        secret for one in (old, new) for secret in secrets_of(one.get("argv") or [], one.get("environment") or {})
    ]
    found = [
        *_named("argument", _pairs(old.get("argv") or ()), _pairs(new.get("argv") or ())),
        *_named("variable", old.get("environment") or {}, new.get("environment") or {}),
    ]
    before = {entry["path"]: entry for entry in old.get("files") or ()}
    after = {entry["path"]: entry for entry in new.get("files") or ()}
    found += [
        Change(path, _why(path, before, after), *_both(has.texts.get(path), wanted.texts.get(path)))
        for path in sorted(before.keys() | after.keys())
        if before.get(path) != after.get(path)
    ]
    found += _judging(wanted, has)
    found = found or [Change("manifest", "the profile says something that no file shows")]
    return [_hidden(one, secrets) for one in found]


def _judging(wanted: Wanted, has: Deployment) -> list[Change]:
    """What the profile says otherwise than the release about how it is judged."""
    before, after = (dict(_judged(one.get("profile") or {})) for one in (has.manifest, wanted.manifest))
    return [
        Change(name, "changed with the profile, and needs no start", before.get(name), after.get(name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name)
    ]


def _judged(profile: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    for section in filter(profile.get, JUDGING):
        value = profile[section]
        parts = (
            {f"{section}.{key}": part for key, part in value.items()}
            if isinstance(value, Mapping)
            else {section: value}
        )
        yield from ((name, json.dumps(part)) for name, part in parts.items())


def _hidden(one: Change, secrets: Sequence[str]) -> Change:
    before, after = (None if text is None else scrubbed(text, secrets) for text in (one.before, one.after))
    return replace(one, subject=scrubbed(one.subject, secrets), before=before, after=after)


def _both(before: str | None, after: str | None) -> tuple[str | None, str | None]:
    """The texts of a file where both are known: the whole of one of them is no difference."""
    return (None, None) if before is None or after is None else (before, after)


def _why(path: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    if path not in before:
        return "new in this release"
    return "changed with the profile" if path in after else "no longer in this release"


def _named(kind: str, before: Mapping[str, Any], after: Mapping[str, Any]) -> list[Change]:
    return [
        Change(f"{kind} {name}", "changed with the profile", _shown(before, name), _shown(after, name))
        for name in sorted(before.keys() | after.keys())
        if before.get(name) != after.get(name) or (name in before) != (name in after)
    ]


def _shown(values: Mapping[str, Any], name: str) -> str | None:
    return str(values[name]) if name in values else None


def _pairs(words: Sequence[str]) -> dict[str, str]:
    """Arguments by flag, each with the words that follow it."""
    found: dict[str, list[str]] = {}
    flag = ""
    for word in words:
        if word.startswith("--"):
            flag = word
            found.setdefault(flag, [])
        else:
            found.setdefault(flag, []).append(word)
    return {name: " ".join(values) for name, values in found.items()}
