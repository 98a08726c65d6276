"""Runs probes on the node under the engine's Python: their sources come with the request, and nothing stays.

A bundle that comes with them is not installed: its patches are laid over a copy that goes with the rest.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from dsv4deploy.node import shadow
from dsv4deploy.node.release import unpacked
from dsv4deploy.node.trouble import Trouble

_SHOWN = 20
_LIMIT_S = 3600


def probe(document: dict[str, Any]) -> dict[str, Any]:
    """Run what is asked for.

    The request: `python` (of the engine), `sources` (path to text), `words` (for the runner), `limit_s`; with an
    `archive` of a bundle, its `manifest` says what is patched and which variables are set. The answer: `document`
    (`probe/1`) and `said`, a line for each probe.

    Raises:
        Trouble: that Python is not there, cannot run them, or did not come to an end.
    """
    python = str(document.get("python") or "")
    if not os.access(python, os.X_OK):
        raise Trouble("no-python", f"there is no Python at {python!r}", "name the engine's own with --python")
    with tempfile.TemporaryDirectory(prefix="dsv4deploy-probes-") as folder:
        surroundings = prepared(Path(folder), document)
        out = Path(folder, "answers.json")
        words = [str(word) for word in document.get("words") or []]
        command = [python, "-m", "dsv4deploy.probes", str(out), *words]
        said = _run(command, folder, surroundings, float(document.get("limit_s") or _LIMIT_S))
        if not out.exists():
            last = said[-1] if said else "it said nothing"
            raise Trouble("no-answer", f"{python} cannot run the probes: {last}", "name the engine's own with --python")
        return {"changed": False, "document": json.loads(out.read_text(encoding="utf-8")), "said": said[-_SHOWN:]}


def prepared(folder: Path, document: dict[str, Any]) -> dict[str, str]:
    """Write the sources into `folder`, lay the patches of the bundle there, and answer the environment to run in.

    Raises:
        Trouble: the patches do not fit what is installed.
    """
    for name, text in (document.get("sources") or {}).items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    if not document.get("archive"):
        return {**os.environ, "PYTHONPATH": str(folder)}
    release, manifest = folder / "release", document["manifest"]
    for name, data in unpacked(document).items():
        path = release / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    laid = shadow.lay(release, manifest)["packages"]
    roots = [str(folder), *([str(release / shadow.NAME)] if laid else [])]
    return {**os.environ, **(manifest.get("environment") or {}), "PYTHONPATH": os.pathsep.join(roots)}


def _run(command: list[str], folder: str, surroundings: dict[str, str], limit_s: float) -> list[str]:
    with subprocess.Popen(
        command,
        cwd=folder,
        env=surroundings,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        start_new_session=True,
    ) as running:
        try:
            _, said = running.communicate(timeout=limit_s)
        except subprocess.TimeoutExpired:
            raise Trouble(
                "no-answer", f"the probes were not over after {limit_s:g} s", "ask for fewer of them"
            ) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)
    return said.decode(errors="replace").splitlines()
