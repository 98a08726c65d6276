"""Runs probes here or on nodes, and shows what they answered."""

import json
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from dsv4deploy.cli.remote_node import RemoteNode
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible, probing
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.probe_document import read_probes, recorded
from dsv4deploy.stages.probes import deviations, peer_verdict
from dsv4deploy.views import probes

_ALL_S = 3600.0


def read(path: Path) -> str:
    """Answers that were written before."""
    return Files().read(str(path)).decode()


def here(python: Path, words: Sequence[str], kernel: str) -> str:
    """The answers of this machine."""
    own = ["--kernel", os.path.abspath(kernel)] if kernel else []  # noqa: PTH100 (the function is still at its end)
    interpreter = python.absolute() if len(python.parts) > 1 else python
    return probing.run(interpreter, [*words, *own], lambda line: print(line, file=sys.stderr, flush=True))


def on_nodes(options: ansible.Options, python: Path, words: Sequence[str]) -> dict[str, str]:
    """The answers of every node, one node after the other."""
    return {
        node.name: json.dumps(
            node.ask("probe", "probe", python=str(python), words=list(words), limit_s=_ALL_S)["document"]
        )
        for node in RemoteNode.all_of(options)
    }


def shown(answers: Mapping[str, str], output: Path | None, *, as_json: bool) -> int:
    """Print the answers of each node, keep them where that is asked for, and return the exit code.

    Raises:
        Trouble: one of them is no answer, or several shall go to one file.
    """
    if output and len(answers) > 1:
        raise Trouble("the answers of several nodes do not go into one file", "choose one node: --limit", Exit.USAGE)
    for node, text in answers.items():
        document = read_probes(text, node or "this")
        if output:
            output.write_text(text, encoding="utf-8")
        if as_json:
            print(text.rstrip())
        else:
            print(f"{node}\n" if node else "", end="")
            print(probes.screen(document, deviations(document, recorded()), peer_verdict(document)), end="")
    return Exit.FINE
