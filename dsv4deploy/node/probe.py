"""Runs probes on the node under the engine's Python: their sources come with the request, and nothing stays."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from dsv4deploy.node.trouble import Trouble

_SHOWN = 20


def probe(document: dict[str, Any]) -> dict[str, Any]:
    """Run what is asked for.

    The request: `python` (of the engine), `sources` (path to text), `words` (for the runner), `limit_s`. The answer:
    `document` (`probe/1`) and `said`, a line for each probe.

    Raises:
        Trouble: that Python is not there, cannot run them, or did not come to an end.
    """
    python = str(document.get("python") or "")
    if not os.access(python, os.X_OK):
        raise Trouble("no-python", f"there is no Python at {python!r}", "name the engine's own with --python")
    with tempfile.TemporaryDirectory(prefix="dsv4deploy-probes-") as folder:
        for name, text in (document.get("sources") or {}).items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        out = Path(folder, "answers.json")
        words = [str(word) for word in document.get("words") or []]
        said = _run(
            [python, "-m", "dsv4deploy.probes", str(out), *words], folder, float(document.get("limit_s") or 3600)
        )
        if not out.exists():
            last = said[-1] if said else "it said nothing"
            raise Trouble("no-answer", f"{python} cannot run the probes: {last}", "name the engine's own with --python")
        return {"changed": False, "document": json.loads(out.read_text(encoding="utf-8")), "said": said[-_SHOWN:]}


def _run(command: list[str], folder: str, limit_s: float) -> list[str]:
    with subprocess.Popen(
        command,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": folder},
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
