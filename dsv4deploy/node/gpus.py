"""The cards of a node, as `nvidia-smi` tells them; no GPU library is needed."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

_FIELDS = ["index", "name", "compute_cap", "memory.total", "memory.used", "driver_version", "vbios_version", "uuid"]
# What an idle card keeps for its driver, generously.
_IDLE_MIB = 2048


def cards() -> list[dict[str, Any]] | None:
    """Every card: `index`, `name`, `arch`, `memory_mib`, `used_mib`, `driver`, `vbios`, `uuid`; None without a driver."""
    out = _smi(f"--query-gpu={','.join(_FIELDS)}", "--format=csv,noheader,nounits")
    if out is None:
        return None
    found = []
    for line in out.splitlines():
        words = [word.strip() for word in line.split(",")]
        if len(words) == len(_FIELDS):
            row = dict(zip(_FIELDS, words))
            found.append(
                {
                    "index": int(row["index"]),
                    "name": row["name"],
                    "arch": _arch(row["compute_cap"]),
                    "memory_mib": _number(row["memory.total"]),
                    "used_mib": _number(row["memory.used"]),
                    "driver": row["driver_version"],
                    "vbios": row["vbios_version"],
                    "uuid": row["uuid"],
                }
            )
    return found


def users() -> list[dict[str, Any]]:
    """Every process that computes on a card: `uuid`, `pid`, `used_mib`."""
    out = _smi("--query-compute-apps=gpu_uuid,pid,used_memory", "--format=csv,noheader,nounits") or ""
    rows = re.findall(r"^(\S+), *(\d+), *(.*)$", out, re.MULTILINE)
    return [{"uuid": uuid, "pid": int(pid), "used_mib": _number(used)} for uuid, pid, used in rows]


def wedged(devices: list[int]) -> list[int]:
    """Those of `devices` whose memory is in use although no process uses them."""
    if not devices:
        return []
    used = {one["uuid"] for one in users()}
    return [
        card["index"]
        for card in cards() or []
        if card["index"] in devices and (card["used_mib"] or 0) > _IDLE_MIB and card["uuid"] not in used
    ]


def driver_cuda() -> str | None:
    """The newest CUDA that the driver supports."""
    found = re.search(r"CUDA Version:\s*([\d.]+)", _smi() or "")
    return found[1] if found else None


def topology() -> str | None:
    """How the cards reach one another, in the worst pair, in the words of `nvidia-smi topo`."""
    out = _smi("topo", "-m") or ""
    order = ["NV", "PIX", "PXB", "PHB", "NODE", "SYS"]
    words = [word for line in out.splitlines() if line.startswith("GPU") for word in line.split()[1:]]
    ranks = [rank for word in words for rank, kind in enumerate(order) if re.fullmatch(rf"{kind}\d*", word)]
    return order[max(ranks)] if ranks else None


def p2p() -> str | None:
    """`ok` if every card can read every other one's memory, else `unsupported`, in the driver's own judgement."""
    out = _smi("topo", "-p2p", "r") or ""
    rows = [line.split()[1:] for line in out.splitlines() if re.match(r"\s*GPU\d+\s", line)]
    states = {word for row in rows for word in row} & {"OK", "CNS", "GNS", "TNS", "NS", "DR"}
    return None if not states else "ok" if states == {"OK"} else "unsupported"


def _arch(capability: str) -> str | None:
    return f"sm_{capability.replace('.', '')}" if re.fullmatch(r"\d+\.\d", capability) else None


def _number(word: str) -> int | None:
    return int(float(word)) if re.fullmatch(r"[\d.]+", word) else None


def _smi(*words: str) -> str | None:
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        done = subprocess.run(["nvidia-smi", *words], capture_output=True, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
