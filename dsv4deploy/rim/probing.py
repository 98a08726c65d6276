"""Runs the probes under another Python, the engine's: a copy of them and of nothing else of ours travels there."""

import os
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.node import probe
from dsv4deploy.node import trouble as node_trouble
from dsv4deploy.rim import scratch

_ROOM = "dsv4deploy/probes"


def sources() -> dict[str, str]:
    """Everything that a Python without dsv4deploy needs to run the probes, by path."""
    package = resources.files("dsv4deploy")
    found = {"dsv4deploy/__init__.py": (package / "__init__.py").read_text(encoding="utf-8")}
    for folder in ("", "/cases"):
        for file in (package / f"probes{folder}").iterdir():
            if file.name.endswith(".py"):
                found[f"{_ROOM}{folder}/{file.name}"] = file.read_text(encoding="utf-8")
    return found


def run(
    python: Path, words: Sequence[str], tell: Callable[[str], None], beside: Mapping[str, Any] | None = None
) -> str:
    """Run the probes that `words` name with `python`; `tell` hears each line at once.

    `beside` is what else the tool on a node gets: an `archive` and `manifest` of a bundle, and further `sources`.

    Returns:
        the document, as text.

    Raises:
        Trouble: that Python cannot run them, with the last thing it said.
    """
    with scratch.folder("probes") as folder:
        more = dict(beside or {})
        surroundings = _prepared(folder, {**more, "sources": {**sources(), **more.get("sources", {})}})
        out = folder / "answers.json"
        command = [str(python), "-m", "dsv4deploy.probes", str(out), *words]
        said = _listened(command, folder, surroundings, tell)
        if not out.exists():
            last = next((line for line in reversed(said) if line.strip()), "it said nothing")
            raise Trouble(f"{python} cannot run the probes: {last}", "name the engine's own Python with --python")
        return out.read_text(encoding="utf-8")


def _prepared(folder: Path, document: dict[str, Any]) -> dict[str, str]:
    try:
        return probe.prepared(folder, document)
    except node_trouble.Trouble as trouble:
        raise Trouble(trouble.message, trouble.remedy) from None


def _listened(
    command: Sequence[str], folder: Path, surroundings: Mapping[str, str], tell: Callable[[str], None]
) -> list[str]:
    """Start `command` in a group of its own, hear it to its end, and leave nothing of it when we are interrupted."""
    try:
        running = subprocess.Popen(
            command,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            cwd=folder,  # so that `-m` finds the copy and nothing else
            env=dict(surroundings),
            process_group=0,
        )
    except OSError as error:
        raise Trouble(f"{command[0]} cannot be started: {error.strerror}", "name a Python with --python") from None
    said = []
    try:
        for line in running.stderr or ():
            said.append(line.rstrip())
            tell(line.rstrip())
        running.wait()
    finally:
        if running.poll() is None:
            os.killpg(running.pid, signal.SIGINT)
            running.wait()
    return said
