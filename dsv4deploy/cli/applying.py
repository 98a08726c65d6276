"""Runs an apply or a rollback: asks first, shows what happens, writes it down, and tells how it ended."""

import json
import signal
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from types import FrameType
from typing import Any

from dsv4deploy.cli import fleet
from dsv4deploy.cli.remembering import Memory
from dsv4deploy.model.event import Event
from dsv4deploy.model.plan import Plan, Step
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible
from dsv4deploy.rim.record import Record
from dsv4deploy.stages.outcome import End, Outcome, code, outcomes
from dsv4deploy.views.progress import Progress

_LINES_SHOWN = 5


def agreed(plan: Plan, *, yes: bool) -> bool:
    """Whether servers that run now may go down.

    Raises:
        Trouble: there is nobody to ask.
    """
    down = [step for step in plan.work if step.stops_a_server]
    if yes or not down:
        return True
    if not sys.stdin.isatty():
        raise Trouble(
            f"{len(down)} running servers would go down, and there is nobody to ask", "say so with --yes", Exit.USAGE
        )
    sys.stdout.write(f"{len(down)} running servers go down for a while. Go on? [y/N] ")
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
    steps: Sequence[Step],
    by_node: Mapping[str, Mapping[str, Any]],
    variables: Mapping[str, Any],
    *,
    gone: frozenset[str] = frozenset(),
    as_json: bool = False,
    remember: Memory | None = None,
) -> int:
    """Work on the nodes of `steps`, write down what failed and what ran, and return the exit code."""
    say = _json_line if as_json else _text_line()
    record = Record(verb)
    record.add({"plan": [asdict(step) for step in steps]})

    def tell(event: Event) -> None:
        record.add(
            {"node": event.node, "name": event.name, "step": event.step, "kind": event.kind, "answer": _short(event)}
        )
        say(event)

    with interruptible() as stopping:
        played = ansible.play(
            verb,
            options,
            nodes=list(by_node),
            variables={**variables, "dsv4_holder": fleet.holder(uuid.uuid4().hex, gone)},
            by_node=by_node,
            tell=tell,
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
    found = outcomes(steps, played.events)
    record.add({"outcomes": [asdict(one) for one in found], "exit": code(found)})
    record.close()
    kept = remember.keep(found, played.events) if remember else ()
    sys.stdout.write(_summary(found, verb, [one.told for one in kept], as_json=as_json))
    return code(found)


def _summary(found: Sequence[Outcome], verb: str, remembered: Sequence[str], *, as_json: bool) -> str:
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
    if done and verb == "apply":
        lines[-1] += " To undo: dsv4deploy rollback"
    return "\n".join([*lines, *remembered]) + "\n"


def _text_line() -> Callable[[Event], None]:
    progress = Progress()

    def say(event: Event) -> None:
        line = progress.line(event)
        if line is not None:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()

    return say


def _json_line(event: Event) -> None:
    told = {"schema": "event/1", "node": event.node, "name": event.name, "step": event.step, "kind": event.kind}
    sys.stdout.write(json.dumps({**told, "answer": _short(event)}) + "\n")
    sys.stdout.flush()


def _short(event: Event) -> dict[str, Any]:
    """The answer without what only Ansible needs, and without the node's whole description."""
    left_out = {"invocation", "facts", "deployments", "wanted", "schema", "verb", "attempts"}
    return {key: value for key, value in event.answer.items() if key not in left_out and not key.startswith("_")}


@contextmanager
def interruptible() -> Iterator[Callable[[], bool]]:
    """Let Ctrl-C and SIGTERM end the run between two steps instead of in the midst of one."""
    asked: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        asked.append(number)

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield lambda: bool(asked)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
