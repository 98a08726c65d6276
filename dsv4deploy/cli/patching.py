"""What the commands on patched kernels share: here or on the nodes, as text or as JSON."""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dsv4deploy.cli.fleet_options import Reach
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import kernels
from dsv4deploy.views import kernels as view

Answer = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Fleet:
    """The nodes that are meant, if any inventory is."""

    reach: Reach
    name: str | None

    def ask(self, verb: str) -> tuple[dict[str, Answer], list[str]]:
        """What each node answers, and one line for each that does not."""
        from dsv4deploy.cli import fleet, serving
        from dsv4deploy.model.event import Kind

        options = self.reach.options()
        seen = serving.seen(options)
        chosen = serving.meant(seen, self.name)
        nodes = [node for node, _, _ in serving.deployments(seen, chosen)]
        events = serving.ask(options, nodes, f"patches-{verb}", chosen)
        answers = {node: event.answer for node, event in events.items() if event.kind is Kind.OK}
        lost = [f"{node}  {fleet.reason(event)}" for node, event in events.items() if node not in answers]
        return answers, [*lost, *serving.unreachable(seen)]


def install(bundle: Path | None, venv: Path | None, *, as_json: bool) -> int:
    """Lay the patches of a bundle on this machine."""
    answer = kernels.act("install", _named(bundle), venv)
    if as_json:
        return _json({"schema": "kernels/1", **answer})
    for one in answer.get("packages", []):
        why = f" ({one['why']})" if one.get("why") else ""
        sys.stdout.write(f"{one['name']}  {one['files']} files {one['how']}{why}, {one['seconds']} s\n")
    sys.stdout.write("installed\n" if answer["changed"] else "No changes.\n")
    return Exit.FINE


def look(verb: str, bundle: Path | None, venv: Path | None, fleet: Fleet, *, as_json: bool) -> int:
    """The status or the proof of a bundle, of a venv, or of the nodes of an inventory."""
    if fleet.reach.inventory:
        return _look_at_nodes(verb, fleet, as_json=as_json)
    if bundle is None and venv is not None:
        return _look_at_venv(kernels.in_venv(venv), as_json=as_json)
    answer = kernels.act(verb, _named(bundle), venv)
    if as_json:
        _json({"schema": "kernels/1", **answer})
    else:
        sys.stdout.write(view.status(answer, f"{answer['name']}  "))
    return Exit.FINE if answer["fine"] else Exit.FOUND


def revert(bundle: Path | None, venv: Path | None, fleet: Fleet, *, as_json: bool) -> int:
    """Undo the patches of a bundle, of a venv, or on the nodes of an inventory."""
    lost: list[str] = []
    if fleet.reach.inventory:
        answers, lost = fleet.ask("revert")
    elif bundle is None and venv is not None:
        answers = {str(venv): kernels.revert_venv(venv)}
    else:
        answers = {str(bundle): kernels.act("revert", _named(bundle), venv)}
    if as_json:
        _json({"schema": "kernels/1", "answers": answers, "unreachable": lost})
    else:
        for where, answer in answers.items():
            sys.stdout.write(f"{where}  {'reverted' if answer['changed'] else 'nothing to revert'}\n")
            sys.stdout.write("".join(f"  ~ {one}: changed since, left as it is\n" for one in answer.get("left", [])))
        sys.stdout.write("".join(f"{line}\n" for line in lost))
    return Exit.APPLY_FAILED if lost else Exit.FINE


def _look_at_nodes(verb: str, fleet: Fleet, *, as_json: bool) -> int:
    answers, lost = fleet.ask(verb)
    if as_json:
        _json({"schema": "kernels/1", "answers": answers, "unreachable": lost})
    else:
        sys.stdout.write("".join(view.status(answer, f"{node}  ") for node, answer in answers.items()))
        sys.stdout.write("".join(f"{line}\n" for line in lost))
    if lost:
        return Exit.APPLY_FAILED
    return Exit.FINE if all(one["fine"] for one in answers.values()) else Exit.FOUND


def _look_at_venv(answer: Answer, *, as_json: bool) -> int:
    if as_json:
        _json({"schema": "kernels/1", **answer})
    elif not answer["owners"]:
        sys.stdout.write(f"{answer['venv']}  nothing is patched in place\n")
    else:
        sys.stdout.write(f"{answer['venv']}  patched in place for {', '.join(answer['owners'])}\n")
        sys.stdout.write("".join(f"  {one['path']}  {one['state']}\n" for one in answer["files"]))
    return Exit.FINE if answer["fine"] else Exit.FOUND


def _named(bundle: Path | None) -> Path:
    if bundle is None:
        raise Trouble(
            "which patches?", "name a rendered bundle, an inventory with -i, or a venv with --venv", Exit.USAGE
        )
    return bundle.absolute()


def _json(answer: Answer) -> int:
    sys.stdout.write(json.dumps(answer, indent=2, default=str) + "\n")
    return Exit.FINE
