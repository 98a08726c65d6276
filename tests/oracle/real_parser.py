"""The real argument parser of an SGLang release, run in a process of its own; see `server.py`.

Wheels are downloaded once, into the folder that DSV4DEPLOY_TEST_WHEELS names (default: the user's cache).
"""

import fcntl
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import installed

SERVER = Path(__file__).with_name("server.py")


@dataclass(frozen=True, slots=True)
class Answer:
    """What the real parser makes of a command line: all values by SGLang's own field names, or its complaint."""

    accepted: bool
    values: dict[str, Any]
    message: str


class RealParser:
    """One process that answers for one release.

    `actions` describes every argument as argparse holds it.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=environment
        )
        hello = self._line()
        self.actions: list[dict[str, Any]] = hello["actions"]
        self.failed: dict[str, str] = hello["failed"]
        self.version: str | None = hello["version"]

    def _line(self) -> dict[str, Any]:
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line, "the parser's process has ended; its complaint is on standard error"
        answer: dict[str, Any] = json.loads(line)
        return answer

    def parse(self, words: Sequence[str]) -> Answer:
        """Let the real parser read `words` (without the program)."""
        assert self.process.stdin
        self.process.stdin.write(json.dumps(list(words)) + "\n")
        self.process.stdin.flush()
        answer = self._line()
        return Answer(answer["accepted"], answer.get("values", {}), " ".join(answer.get("message", ())))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


@cache
def real_parser(version: str) -> RealParser:
    """The parser of a release, started once for a test run; it ends with it."""
    return RealParser([sys.executable, "-I", str(SERVER), str(wheel(version))])


def installed_parser() -> RealParser:
    """The parser of the SGLang that is installed."""
    environment = {**os.environ, "PYTHONPATH": installed.search_path()}
    return RealParser([installed.PYTHON, str(SERVER), "installed"], environment)


@cache
def wheel(version: str) -> Path:
    """The wheel of a release, downloaded unless the cache has it."""
    default = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache")) / "dsv4deploy-tests" / "wheels"
    folder = Path(os.environ.get("DSV4DEPLOY_TEST_WHEELS", default))
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f"{version}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        found = sorted(folder.glob(f"sglang-{version}-*.whl"))
        if not found:
            _download(version, folder)
            found = sorted(folder.glob(f"sglang-{version}-*.whl"))
    return found[0]


def _download(version: str, folder: Path) -> None:
    target = ["--python-version", "3.12", "--platform", "manylinux_2_34_x86_64", "--platform", "any"]
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary=:all:", *target]
    subprocess.run([*command, "--dest", str(folder), f"sglang=={version}"], check=True)
