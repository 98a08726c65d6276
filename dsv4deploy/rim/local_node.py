"""This machine as a node: the tool that goes to nodes, asked through a process of its own."""

import base64
import hashlib
import io
import json
import os
import signal
import subprocess
import sys
import tarfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.observed import Observation
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.nodetool import build

Answer = Mapping[str, Any]


class LocalNode:
    """A root folder of deployments on this machine; `holder` says who works there, so that nobody else does."""

    name = "here"
    address = "127.0.0.1"

    def __init__(self, root: Path, holder: Mapping[str, Any] | None = None) -> None:
        self.root = root.absolute()
        self.holder = holder or {}

    def ask(self, verb: str, deployment: str, **more: Any) -> Answer:  # noqa: ANN401 (any JSON)
        """What the tool answers to one verb; an interrupt waits until it has.

        Raises:
            Trouble: it could not do what was asked.
        """
        request = {"name": deployment, "root": str(self.root), "holder": self.holder, **more}
        answer = _asked([sys.executable, str(self._tool()), verb], json.dumps(request).encode())
        if not answer.get("ok"):
            error = answer.get("error") or {}
            raise Trouble(str(error.get("message")), str(error.get("remedy") or ""), Exit.APPLY_FAILED)
        return answer

    def observed(self, bundle: Bundle | None = None) -> Observation:
        """Deployments here; with a release, also facts of this machine and its engine, and what stands against it."""
        wanted = {"manifests": [json.loads(bundle.manifest.text)]} if bundle else {"facts": False}
        return Observation.model_validate(self.ask("observe", bundle.name if bundle else "", **wanted))

    def put(self, bundle: Bundle) -> None:
        """Install the release that `bundle` is; nothing is started."""
        self.ask("install", bundle.name, **installable(bundle))

    def _tool(self) -> Path:
        """The tool under the name of its content: another run, of another version even, may be reading its own."""
        content = build()
        path = self.root / f"node-{_digest(content)[:12]}.pyz"
        if not path.exists():
            self.root.mkdir(parents=True, exist_ok=True)
            fresh = path.with_suffix(f".{os.getpid()}")
            fresh.write_bytes(content)
            fresh.replace(path)
        return path


def installable(bundle: Bundle) -> dict[str, Any]:
    """A bundle as the tool takes it: digest, manifest, and the archive with its own digest."""
    content = archive(bundle)
    document = {"digest": bundle.digest, "manifest": json.loads(bundle.manifest.text)}
    return {**document, "archive": base64.b64encode(content).decode(), "sha256": _digest(content)}


def archive(bundle: Bundle) -> bytes:
    """The files of a bundle as a tar archive, as the tool takes it."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as tar:
        for file in bundle.files:
            entry = tarfile.TarInfo(file.path)
            entry.size = len(file.text)
            tar.addfile(entry, io.BytesIO(file.text))
    return out.getvalue()


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _asked(command: list[str], data: bytes) -> Answer:
    running = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
    try:
        out, _ = running.communicate(data)
    except KeyboardInterrupt:
        # What was begun is ended well; a judge that only looks on may be ended at once.
        if command[-1] == "wait":
            os.killpg(running.pid, signal.SIGKILL)
        running.wait()
        raise
    try:
        found: Answer = json.loads(out.splitlines()[-1])
    except (IndexError, ValueError):
        raise Trouble("the tool on this machine gave no answer", "see what it said above") from None
    return found
