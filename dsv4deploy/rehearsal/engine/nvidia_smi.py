"""A rehearsal of `nvidia-smi` for the pretended cards: the queries that dsv4deploy asks, and no others."""

from __future__ import annotations

import sys

from .record import RECORD, Value


def main(words: list[str] | None = None) -> int:
    """Answer one query; 2 and a message for anything else."""
    arguments = sys.argv[1:] if words is None else words
    answer = _answer(arguments)
    if answer is None:
        sys.stderr.write("a rehearsal of nvidia-smi knows --query-gpu, --query-compute-apps and topo -m only\n")
        return 2
    sys.stdout.write(answer)
    return 0


def _answer(arguments: list[str]) -> str | None:
    cards = [_card(index) for index in range(int(RECORD["world"]["gpus"]))]
    if not arguments:
        return f"| NVIDIA-SMI (rehearsal)   Driver Version: {_DRIVER}   CUDA Version: {_CUDA} |\n"
    query, _, fields = arguments[0].partition("=")
    if query == "--query-gpu":
        rows = [", ".join(card.get(field, "[N/A]") for field in fields.split(",")) for card in cards]
        return "".join(row + "\n" for row in rows)
    if query == "--query-compute-apps":
        return ""
    return _topology(len(cards)) if arguments == ["topo", "-m"] else None


def _card(index: int) -> dict[str, str]:
    world: dict[str, Value] = RECORD["world"]
    major, minor = world["arch"].rsplit("_", 1)[1][:-1], world["arch"][-1]
    return {
        "index": str(index),
        "name": f"{world['gpu_name']} (rehearsal)",
        "compute_cap": f"{major}.{minor}",
        "memory.total": str(int(float(world["gpu_memory_gib"]) * 1024)),
        "memory.used": "2",
        "driver_version": _DRIVER,
        "vbios_version": "rehearsal",
        "uuid": f"GPU-00000000-0000-0000-0000-{index:012d}",
    }


def _topology(count: int) -> str:
    """Every pair over the host bridge, as on a board with PCIe cards and no switch."""
    names = [f"GPU{index}" for index in range(count)]
    rows = ["\t".join([name, *("X" if name == other else "NODE" for other in names)]) for name in names]
    return "\t".join(["", *names]) + "\n" + "".join(row + "\n" for row in rows)


_DRIVER = "580.95.05"
_CUDA = "13.0"
