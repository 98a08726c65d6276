"""The real argument resolver of one release in a process of its own, on a pretended card and model."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from real_parser import wheel

SERVER = Path(__file__).with_name("resolve_server.py")
RELEASES = ("0.5.9", "0.5.13.post1", "0.5.17", "0.5.20", "0.5.23")
CARDS = (80, 89, 90, 100, 103, 120)
MEMORY_MIB = 97887
# What the pretended model fails to say shows as one of these, and not as a refusal.
HOLES = ("TypeError", "AttributeError", "NameError", "KeyError", "ImportError", "IndexError")
# DeepSeek-V4 came with 0.5.12; what an older release makes of it is nothing to compare with.
FIRST = {"deepseek_v4": "0.5.13.post1"}


def knows(version: str, kind: str) -> bool:
    """Whether this release knows this type of model."""
    return RELEASES.index(version) >= RELEASES.index(FIRST.get(kind, RELEASES[0]))


class Resolver:
    """The resolver of one release in a process of its own."""

    def __init__(self, version: str) -> None:
        command = [sys.executable, str(SERVER), str(wheel(version))]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )

    def ask(
        self, words: list[str], sm: int, kind: str, model: dict[str, str], names: list[str], *, check: bool = False
    ) -> dict[str, Any]:
        """`values` of these names, or `refused` and how; `check` asks its last look at what it resolved as well."""
        question = {
            "words": words,
            "sm": sm,
            "memory_mib": MEMORY_MIB,
            "model_type": kind,
            "quant_method": model.get("quant_method"),
            "hybrid": model.get("moe_quant_algo") == "NVFP4",
            "names": names,
            "check": check,
        }
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.write(json.dumps(question) + "\n")
        self.process.stdin.flush()
        answer: dict[str, Any] = json.loads(self.process.stdout.readline())
        return answer

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait(timeout=30)


class Resolvers(dict[str, Resolver]):
    """A resolver for each release, which comes up when it is first asked."""

    def __missing__(self, version: str) -> Resolver:
        self[version] = Resolver(version)
        return self[version]
