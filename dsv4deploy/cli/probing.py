"""Runs probes here or on nodes, and shows what they answered."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dsv4deploy.cli import house
from dsv4deploy.cli.remote_node import RemoteNode
from dsv4deploy.flow import Looked, looked_at
from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible, bundles, probing, scratch
from dsv4deploy.rim.local_node import installable
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.probe_document import read_probes, recorded
from dsv4deploy.stages.probe_plan import ProbePlan, probe_plan
from dsv4deploy.stages.probes import deviations, faults, peer_verdict
from dsv4deploy.views import probes

_ALL_S = 3600.0


@dataclass(frozen=True, slots=True)
class Asked:
    """What is run: by which Python, with which words, and with what of a profile beside it."""

    python: Path
    words: tuple[str, ...]
    trials: Mapping[str, str] = field(default_factory=dict)
    bundle: Bundle | None = None
    told: tuple[str, ...] = ()


def read(path: Path) -> str:
    """Answers that were written before."""
    return Files().read(str(path)).decode()


def asked(path: Path | None, python: Path | None, words: Sequence[str]) -> Asked:
    """What is run; with a profile, its Python, predicted pool and patched kernels are taken.

    Raises:
        Refused: the profile has no shape that could be judged.
        Trouble: it has no venv whose Python could be asked.
    """
    if path is None:
        return Asked(python or Path("python3"), tuple(words))
    looked = looked_at(Files(), house.knowledge(path), house.asked(path, (), (), None, ()))
    if looked.profile.engine.venv is None:
        raise Trouble(f"{path} runs a container", "name a Python that has its torch: --python PATH", Exit.USAGE)
    plan = probe_plan(looked.profile, looked.memory, looked.patches)
    return Asked(python or Path(plan.python), (*words, *plan.words), _texts(plan), _bundle(looked, plan), plan.told)


def _texts(plan: ProbePlan) -> dict[str, str]:
    return {name: Files().read(path).decode() for name, path in (plan.trials or {}).items()}


def _bundle(looked: Looked, plan: ProbePlan) -> Bundle | None:
    """The bundle whose patches are laid for the probes; none where no kernel is tried."""
    return house.bundle(looked) if plan.trials else None


def here(what: Asked, kernels: Sequence[str]) -> str:
    """The answers of this machine."""
    own = [word for one in kernels for word in ("--kernel", os.path.abspath(one))]  # noqa: PTH100 (the function is still at its end)
    interpreter = what.python.absolute() if len(what.python.parts) > 1 else what.python
    beside: dict[str, Any] = {"sources": dict(what.trials)}
    if what.bundle:
        beside |= installable(what.bundle)
    return probing.run(interpreter, [*what.words, *own], _tell, beside)


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


def on_nodes(
    options: ansible.Options, what: Asked, kernels: Sequence[str], output: Path | None
) -> dict[str, str | Trouble]:
    """The answers of every node, one node after the other; of several nodes, also why one gave none.

    Raises:
        Trouble: the only node gave none, or the answers of several shall go to one file.
    """
    nodes = RemoteNode.all_of(options)
    if output and len(nodes) > 1:
        raise Trouble("the answers of several nodes do not go into one file", "choose one node: --limit", Exit.USAGE)
    words = [*what.words, *(word for one in kernels for word in ("--kernel", one))]
    with scratch.folder("probe") as folder:
        more: dict[str, Any] = {"trials": dict(what.trials)} if what.trials else {}
        if what.bundle:
            path = folder / what.bundle.name
            bundles.write(what.bundle, path)
            more["bundle"] = str(path)
        more |= {"python": str(what.python), "words": words, "limit_s": _ALL_S}
        found: dict[str, str | Trouble] = {}
        for node in nodes:
            try:
                found[node.name] = json.dumps(node.ask("probe", "probe", **more)["document"])
            except Trouble as trouble:
                if len(nodes) == 1:
                    raise
                found[node.name] = trouble
    return found


def shown(answers: Mapping[str, str | Trouble], output: Path | None, *, as_json: bool) -> int:
    """Print the answers of each node, keep them where that is asked for, and return the exit code.

    A fault of a machine or a patch is found; what was injected is none.

    Raises:
        Trouble: one of them is no answer, or cannot be written.
    """
    answered, silent, faulty = False, False, False
    for node, text in answers.items():
        if isinstance(text, Trouble):
            silent = True
            _tell(f"error: {text.message}")
            continue
        document = read_probes(text, node or "this")
        answered = answered or any(one.outcome != "unknown" for one in document.results)
        faulty = faulty or (not document.fault and bool(faults(document) or peer_verdict(document).remedy))
        if output:
            _write(text, output)
        if as_json:
            print(text.rstrip())
        else:
            print(f"{node}\n" if node else "", end="")
            print(probes.screen(document, deviations(document, recorded()), peer_verdict(document)), end="")
    if silent:
        return Exit.APPLY_FAILED
    if faulty:
        return Exit.FOUND
    return Exit.FINE if answered else Exit.UNREADABLE


def _write(text: str, path: Path) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Trouble(f"{path} cannot be written: {error.strerror}", "name another file with -o") from None
