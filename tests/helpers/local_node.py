"""A node of one's own: the real tool as a zipapp, the process supervisor, a folder that goes away."""

import contextlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import bundles
from belongings import end_all_in, free_port

from dsv4deploy.rim.nodetool import build

Json = dict[str, Any]


class Node:
    """One root folder of deployments, asked through the tool alone."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.root = folder / "root"
        self.tool = folder / "node.pyz"
        self.tool.write_bytes(build())
        self.port = free_port()
        self.python = sys.executable

    def begin(self, verb: str, request: Json | None = None, **more: Any) -> subprocess.Popen[bytes]:
        document = {"name": "flash", "root": str(self.root), **(request or {}), **more}
        started = subprocess.Popen(
            [self.python, str(self.tool), *verb.split()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        assert started.stdin
        started.stdin.write(json.dumps(document).encode())
        started.stdin.close()
        started.stdin = None
        return started

    def ask(self, verb: str, request: Json | None = None, **more: Any) -> Json:
        out, err = self.begin(verb, request, **more).communicate(timeout=60)
        assert not err, err.decode()
        answer: Json = json.loads(out)
        return answer

    def do(self, verb: str, request: Json | None = None, **more: Any) -> Json:
        answer = self.ask(verb, request, **more)
        assert answer["ok"], answer
        return answer

    def install(self, label: str = "one", **options: Any) -> str:
        manifest = bundles.bundle(self.folder / label, port=self.port, words=("--flag", label), **options)
        self.do("install", bundles.archive(self.folder / label))
        digest: str = manifest["digest"]
        return digest

    def apply(self, label: str = "one", **options: Any) -> str:
        digest = self.install(label, **options)
        self.do("switch", digest=digest)
        answer = self.do("wait", limit_s=10, confirm=True)
        assert answer["state"] == "ready", answer
        return digest

    @property
    def here(self) -> Path:
        return self.root / "flash"

    def running(self) -> list[str]:
        """The words of the process that runs, from the kernel."""
        with contextlib.suppress(OSError, ValueError):
            pid = json.loads((self.here / "run/process.json").read_text())["pid"]
            return Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
        return []

    def flag(self) -> str | None:
        words = self.running()
        return words[words.index("--flag") + 1] if "--flag" in words else None

    def wipe(self) -> None:
        end_all_in(self.folder)
