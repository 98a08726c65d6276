"""What the commands on running servers share: which deployment is meant, and asking all nodes one thing."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from dsv4deploy.cli import fleet
from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.observed import Deployment, Observation
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.node.scrub import secrets_of
from dsv4deploy.rim import ansible

_SHORT = 12
Seen = Mapping[str, Observation | str]


def seen(options: ansible.Options) -> Seen:
    """What every node of the inventory has; no facts."""
    return fleet.observe(options, {host.name: [] for host in ansible.hosts(options)}, facts=False)


def deployments(seen: Seen, name: str | None) -> list[tuple[str, str, Deployment]]:
    """Every deployment of that name, or all that some node has: node, name, what it has.

    What is deployed nowhere, such as the arms of an experiment that is over, is left out unless it is named, or
    unless there is nothing else: a first start that failed is looked at too.
    """
    found = [
        (node, one, has)
        for node, answer in seen.items()
        if isinstance(answer, Observation)
        for one, has in answer.deployments.items()
    ]
    current = {one for _, one, has in found if has.current}
    names = {name} if name else current or {one for _, one, _ in found}
    return [(node, one, has) for node, one, has in found if one in names]


def secrets(found: Sequence[tuple[str, str, Deployment]]) -> list[str]:
    """The values that the manifests of these deployments hold and that nobody else may see."""
    manifests = [has.manifest for _, _, has in found]
    return [value for one in manifests for value in secrets_of(one.get("argv") or [], one.get("environment") or {})]


def unreachable(seen: Seen) -> list[str]:
    """One line for each node that did not answer."""
    return [f"{node}  unreachable: {answer}" for node, answer in seen.items() if isinstance(answer, str)]


def meant(seen: Seen, name: str | None) -> str:
    """The one deployment that is meant.

    Raises:
        Trouble: there is none, or there are several and none is named.
    """
    names = sorted({one for _, one, _ in deployments(seen, name)})
    if len(names) == 1:
        return names[0]
    if not names:
        raise _nothing(seen, name)
    raise Trouble(f"there are several deployments: {', '.join(names)}", f"--name {names[0]}", Exit.USAGE)


def _nothing(seen: Seen, name: str | None) -> Trouble:
    lost, others = unreachable(seen), sorted({one for _, one, _ in deployments(seen, None)})
    if lost:
        return Trouble(lost[0], "dsv4deploy status tells of every node", Exit.APPLY_FAILED)
    if others:
        return Trouble(f"no node has a deployment named {name}", f"there is {', '.join(others)}", Exit.APPLY_FAILED)
    return Trouble("no node has a deployment", "dsv4deploy apply brings one there", Exit.APPLY_FAILED)


def ask(options: ansible.Options, nodes: Sequence[str], verb: str, name: str, **more: object) -> dict[str, Event]:
    """Ask each node one thing, and return its last word by node."""
    found: dict[str, Event] = {}

    def hear(event: Event) -> None:
        if event.kind is not Kind.RETRY and (event.step == verb or event.kind is not Kind.OK):
            found[event.node] = event

    variables = {"dsv4_verb": verb, "dsv4_name": name, **more}
    fleet.begun(ansible.play("service", options, nodes=nodes, variables=variables, by_node={}, tell=hear))
    return found


def act(options: ansible.Options, name: str | None, verb: str, done: str, *, as_json: bool, **more: object) -> int:
    """Start, stop, restart or prune one deployment everywhere, tell what came of it, and return the exit code."""
    looked = seen(options)
    chosen = meant(looked, name)
    nodes = [node for node, _, _ in deployments(looked, chosen)]
    answers = ask(options, nodes, verb, chosen, **more)
    lost = unreachable(looked)
    went, lines = {}, []
    for node in nodes:
        event = answers.get(node)
        if event is None or event.kind is not Kind.OK:
            lost.append(f"{node}  {chosen}  failed: {fleet.reason(event) if event else 'no answer'}")
        else:
            went[node] = {"changed": bool(event.answer.get("changed")), "removed": event.answer.get("removed") or []}
            lines.append(f"{node}  {chosen}  {_done(verb, done, event.answer)}")
    if as_json:
        sys.stdout.write(machine("service/1", {"verb": verb, "name": chosen, "nodes": went, "unreachable": lost}))
    else:
        sys.stdout.write("".join(f"{line}\n" for line in (*lines, *lost)))
    return Exit.APPLY_FAILED if lost else Exit.FINE


def _done(verb: str, done: str, answer: Mapping[str, Any]) -> str:
    if not answer.get("changed"):
        return f"no change: {_already(verb)}"
    removed = [str(one)[:_SHORT] for one in answer.get("removed") or ()]
    return f"{done}: {', '.join(removed)} removed" if removed else done


def machine(schema: str, content: Mapping[str, Any]) -> str:
    return json.dumps({"schema": schema, **content}, indent=2, default=str) + "\n"


def _already(verb: str) -> str:
    return {"start": "it runs", "stop": "it does not run", "prune": "nothing to remove"}.get(verb, "nothing to do")
