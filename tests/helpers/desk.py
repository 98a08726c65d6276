"""A user's folder on this machine: local connection, process supervisor, rehearsal engine; no root, no ssh."""

import contextlib
import getpass
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pexpect  # type: ignore[import-untyped]  # (it comes with ansible-runner, without types)
from belongings import end_all_in, free_port

BIN = Path(sys.executable).parent
INVENTORY = Path(__file__).parents[2] / "inventories/local.ini"

CANARY = "canary-9d41"  # what no other user of this machine may see


class Desk:
    """One user's folder, with a home of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        subprocess.run([BIN / "dsv4deploy", "rehearse", "venv", folder / "engine", "--engine", "0.5.23"], check=True)
        (folder / "profile.yaml").write_text(
            f"""
name: flash
engine: {{version: 0.5.23, venv: {folder}/engine, rehearsal: true}}
model: {{path: /models/none, served_name: tiny}}
hardware: {{devices: [0, 1, 2, 3]}}
parallel: {{tp: 4}}
server: {{port: {self.port}}}
service: {{supervisor: process, user: {getpass.getuser()}}}
env: {{DSV4_REHEARSAL_SPEED: "20", HF_TOKEN: {CANARY}}}
"""
        )

    @property
    def here(self) -> Path:
        return self.folder / ".local/share/dsv4deploy/flash"

    def begin(self, *words: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [BIN / "dsv4deploy", words[0], "-i", INVENTORY, *words[1:]],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @contextlib.contextmanager
    def terminal(self, *words: str) -> Iterator["pexpect.spawn[str]"]:
        """The command on a terminal of its own, with somebody at the keys."""
        running = pexpect.spawn(
            str(BIN / "dsv4deploy"),
            [words[0], "-i", str(INVENTORY), *words[1:]],
            cwd=self.folder,
            env={**os.environ, "HOME": str(self.folder), "TERM": "xterm"},
            dimensions=(24, 100),
            encoding="utf-8",
            timeout=120,
        )
        try:
            yield running
        finally:
            running.close()

    def run(self, *words: str) -> tuple[int, str]:
        running = self.begin(*words)
        out, _ = running.communicate(timeout=120)
        return running.returncode, out

    def process(self) -> tuple[int, list[str]]:
        """Pid and arguments of the server, from the kernel."""
        pid = json.loads((self.here / "run/process.json").read_text())["pid"]
        try:
            return pid, Path(f"/proc/{pid}/cmdline").read_text().split("\0")[:-1]
        except OSError:
            return pid, []

    def shown(self) -> list[Path]:
        """The files with the secret that others may read, but for the profile, where its owner wrote it."""
        files = (path for path in self.folder.rglob("*") if path.is_file() and path.stat().st_mode & 0o007)
        return [path for path in files if CANARY.encode() in path.read_bytes() and path.name != "profile.yaml"]

    def wipe(self) -> None:
        end_all_in(self.folder)
