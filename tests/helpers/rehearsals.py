"""Starts rehearsal servers for tests, asks them over HTTP, and ends them."""

import json
import os
import signal
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from belongings import free_port

from dsv4deploy.flags import history
from dsv4deploy.rehearsal import install
from dsv4deploy.rehearsal.record import record

# Refused connections have no status; this stands for them.
REFUSED = 0


def sources() -> dict[str, str]:
    """The modules of the engine by file name."""
    folder = resources.files("dsv4deploy.rehearsal").joinpath("engine")
    return {file.name: file.read_text(encoding="utf-8") for file in folder.iterdir() if file.name.endswith(".py")}


def files(version: str, world: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Everything that stands in for `version`."""
    return install.files(sources(), record(history().at(version), world))


@dataclass(frozen=True, slots=True)
class Running:
    """One server under test."""

    process: subprocess.Popen[bytes]
    port: int
    path: Path

    @property
    def log(self) -> str:
        return self.path.read_text(encoding="utf-8", errors="replace")

    def ask(self, path: str, body: object = None, key: str = "") -> tuple[int, str]:
        """Status and text; REFUSED if nobody listens."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        request = urllib.request.Request(f"http://127.0.0.1:{self.port}{path}", data, headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310 (the address is our own)
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()
        except OSError:
            return REFUSED, ""

    def phases(self) -> list[int]:
        """The changes of what `/health` says until it is 200 or the process has ended."""
        seen: list[int] = []
        until = time.monotonic() + 20
        while time.monotonic() < until and self.process.poll() is None:
            status = self.ask("/health")[0]
            if seen[-1:] != [status]:
                seen.append(status)
            if status == 200:
                break
            time.sleep(0.01)
        return seen

    def wait_for(self, text: str) -> None:
        """Until the log holds `text`."""
        until = time.monotonic() + 20
        while text not in self.log:
            assert time.monotonic() < until, f"{text!r} never came:\n{self.log[-2000:]}"
            assert self.process.poll() is None or text in self.log, self.log[-2000:]
            time.sleep(0.01)

    def stop(self, signum: signal.Signals = signal.SIGTERM, *, group: bool = False) -> int:
        """Send a signal to the leader or to all, and return how the leader ended."""
        (os.killpg if group else os.kill)(self.process.pid, signum)
        return self.process.wait(timeout=20)

    def alive(self) -> list[int]:
        """The processes of this server that still run; a zombie does not."""
        found = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    words = (folder / "stat").read_text().rsplit(")", 1)[1].split()
                except OSError:
                    continue
                if words[2] == str(self.process.pid) and words[0] != "Z":
                    found.append(int(folder.name))
        return found


@contextmanager
def running(
    folder: Path, log: Path, *words: str, port: int = 0, env: Mapping[str, str] | None = None
) -> Iterator[Running]:
    """A server of the rehearsal in `folder`, at high speed unless `env` says otherwise."""
    port = port or free_port()
    argv = [str(folder / "bin" / "python"), "-m", "sglang.launch_server", "--model-path", "/models/none"]
    with log.open("wb") as sink:
        process = subprocess.Popen(
            [*argv, "--port", str(port), *words],
            stdout=sink,
            stderr=sink,
            env={**os.environ, "DSV4_REHEARSAL_SPEED": "25", **(env or {})},
            start_new_session=True,
        )
    server = Running(process, port, log)
    try:
        yield server
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(timeout=20)
