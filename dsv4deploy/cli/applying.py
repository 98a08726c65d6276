"""Runs an apply or a rollback: asks first, shows what happens, writes it down, and tells how it ended."""

import json
import shlex
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from dsv4deploy.cli import fleet
from dsv4deploy.cli.remembering import Memory
from dsv4deploy.cli.showing import short, shown
from dsv4deploy.model.event import Event
from dsv4deploy.model.plan import Action, Plan, Step
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible, ending
from dsv4deploy.rim.record import Record
from dsv4deploy.stages.outcome import End, Outcome, code, outcomes, passed_over

_LINES_SHOWN = 5
_SHORT = 12


def agreed(plan: Plan, *, yes: bool) -> bool:
    """Whether servers that run now may go down.

    Raises:
        Trouble: there is nobody to ask.
    """
    down = [step for step in plan.work if step.stops_a_server]
    if yes or not down:
        return True
    those = f"{len(down)} running server{'s' if len(down) > 1 else ''}"
    if not sys.stdin.isatty():
        raise Trouble(f"{those} would go down, and there is nobody to ask", "say so with --yes", Exit.USAGE)
    sys.stdout.write(f"{those} will go down for a while. Go on? [y/N] ")
    sys.stdout.flush()
    return sys.stdin.readline().strip().lower() in {"y", "yes"}


def batches(text: str) -> list[int | str]:
    """`1,50%` as Ansible has it.

    Raises:
        Trouble: it is no list of numbers and percentages.
    """
    words = [word.strip() for word in text.split(",")]
    if not all(word.removesuffix("%").isdigit() and int(word.removesuffix("%")) for word in words):
        raise Trouble(f"--serial {text} is no list of batch sizes", "--serial 1,50%", Exit.USAGE)
    return [word if word.endswith("%") else int(word) for word in words]


def run(
    verb: str,
    options: ansible.Options,
    plan: Plan,
    by_node: Mapping[str, Mapping[str, Any]],
    variables: Mapping[str, Any],
    *,
    gone: frozenset[str] = frozenset(),
    as_json: bool = False,
    remember: Memory | None = None,
) -> int:
    """Work on the nodes of `plan`, write down what failed and what ran, and return the exit code."""
    record, steps = Record(verb), plan.work
    record.add({"plan": [asdict(step) for step in steps]})

    with interruptible() as stopping:
        with shown(steps, stopping, as_json=as_json, raw=options.show) as show:

            def tell(event: Event) -> None:
                told = {"node": event.node, "name": event.name, "step": event.step, "kind": event.kind}
                record.add({**told, "answer": short(event)})
                show.tell(event)

            played = ansible.play(
                verb,
                options,
                nodes=list(by_node),
                variables={**variables, "dsv4_holder": fleet.holder(uuid.uuid4().hex, gone)},
                by_node=by_node,
                tell=tell,
                begin=show.begin,
                stopping=stopping,
            )
        if stopping():
            record.close()
            raise Trouble(
                "interrupted: a node whose new release was not confirmed goes back by itself",
                "apply again to go on",
                Exit.INTERRUPTED,
            )
    fleet.begun(played)
    worked = outcomes(steps, played.events)
    found = (*worked, *passed_over(plan.refused))
    record.add({"outcomes": [asdict(one) for one in found], "exit": code(found)})
    record.close()
    told, trouble = _remembered(remember, worked, played.events)
    undo = _undo(options, steps) if verb == "apply" else ""
    sys.stdout.write(_summary(found, steps, undo, told, as_json=as_json))
    if record.lost:
        sys.stderr.write(f"{record.path} is not whole: {record.lost}\n")
    if trouble and code(found) is Exit.FINE:
        raise trouble
    if trouble:
        sys.stderr.write(f"{trouble.message}\n")
    return code(found)


def _remembered(
    memory: Memory | None, found: Sequence[Outcome], events: Sequence[Event]
) -> tuple[list[str], Trouble | None]:
    """What was written down for the next time, and why that could not be: how it ended must be told all the same."""
    try:
        return ([one.told for one in memory.keep(found, events)] if memory else []), None
    except Trouble as trouble:
        return [], trouble


def _undo(options: ansible.Options, steps: Sequence[Step]) -> str:
    """The command that goes back; empty where nothing ran before, or runs on."""
    if not any(step.current and step.action is not Action.IN_PLACE for step in steps):
        return ""
    names = {step.name for step in steps}
    words = [word for one in options.inventories for word in ("-i", one)]
    words += ["--limit", options.limit] if options.limit else []
    words += ["--name", *names] if len(names) == 1 else []
    return shlex.join(["dsv4deploy", "rollback", *words])


def _summary(
    found: Sequence[Outcome], steps: Sequence[Step], undo: str, remembered: Sequence[str], *, as_json: bool
) -> str:
    if as_json:
        outcomes = [asdict(one) for one in found]
        told = {"schema": "outcome/1", "exit": code(found), "outcomes": outcomes, "remembered": remembered}
        return json.dumps(told) + "\n"
    lines = []
    for one in found:
        if one.end is not End.APPLIED:
            lines.append(f"{one.node}  {one.name}  {one.end}: {one.told}")
            lines += [f"    {line}" for line in one.lines[-_LINES_SHOWN:]]
    done = sum(one.end is End.APPLIED for one in found)
    lines.append(f"{done} applied, {len(found) - done} not." if done < len(found) else f"{done} applied, 0 failed.")
    releases = {step.release for step in steps}
    if done and len(releases) == 1:
        lines[-1] += f" Release {releases.pop()[:_SHORT]}."
    if done and undo:
        lines[-1] += f" To undo: {undo}"
    return "\n".join([*lines, *remembered]) + "\n"


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C, SIGTERM and a lost terminal end the run between two steps instead of in the midst of one."""
    asked: list[int] = []
    with ending.heard_by(lambda heard, _: asked.append(heard)):
        yield lambda: bool(asked)
