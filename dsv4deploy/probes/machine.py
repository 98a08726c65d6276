"""What the machine is: versions, cards and the links between them, from torch and `nvidia-smi`."""

import platform
import re
import subprocess
from typing import Any

_CARD = ("name", "compute_cap", "memory.total", "driver_version", "pcie.link.gen.max", "pcie.link.width.max")


def nvidia_smi(*words: str) -> str:
    """What `nvidia-smi` prints; nothing where there is none or it fails."""
    try:
        done = subprocess.run(
            ["nvidia-smi", *words], capture_output=True, text=True, timeout=30, check=False, errors="replace"
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout if done.returncode == 0 else ""


def stack() -> dict[str, Any]:
    """Versions that decide how capture behaves, and the cards; a version that is not there is null."""
    import torch

    try:
        import triton
    except ImportError:
        triton = None
    cards = gpus()
    return {
        "python": platform.python_version(),
        "torch": torch.__version__,
        "triton": getattr(triton, "__version__", None),
        "cuda": torch.version.cuda,
        "nccl": _nccl(),
        "driver": cards[0]["driver"] if cards else None,
        "sm": cards[0]["sm"] if cards else None,
        "gpus": cards,
        "links": links(nvidia_smi("topo", "-m")),
    }


def gpus() -> list[dict[str, Any]]:
    """The cards: name, compute capability, memory in MiB, driver, and the widest PCIe link they have."""
    rows = nvidia_smi(f"--query-gpu={','.join(_CARD)}", "--format=csv,noheader,nounits").splitlines()
    found = []
    for row in rows:
        name, sm, memory, driver, generation, width = (part.strip() for part in row.split(","))
        found.append({"name": name, "sm": sm, "memory_mib": memory, "driver": driver, "pcie": f"{generation}x{width}"})
    return found


def visible(cards: int, chosen: str | None) -> int:
    """How many of the machine's cards a process may use; `chosen` is its `CUDA_VISIBLE_DEVICES`."""
    if chosen is None:
        return cards
    return min(cards, len([word for word in chosen.split(",") if word.strip() not in {"", "-1"}]))


def links(topology: str) -> dict[str, str]:
    """`GPU0-GPU1` to the kind of link, such as `NV18` or `PIX`, from the matrix of `nvidia-smi topo -m`."""
    lines = re.sub(r"\x1b\[[0-9;]*m", "", topology).splitlines()
    names = [word for line in lines if line[:1].isspace() for word in line.split() if re.fullmatch(r"GPU\d+", word)]
    found: dict[str, str] = {}
    for row, *kinds in (line.split() for line in lines if line.startswith("GPU")):
        later = names[names.index(row) + 1 :] if row in names else []
        found |= {f"{row}-{name}": kinds[names.index(name)] for name in later}
    return found


def memory_used_mib() -> list[int]:
    """MiB in use on each card, by whomever."""
    rows = nvidia_smi("--query-gpu=memory.used", "--format=csv,noheader,nounits").split()
    return [int(row) for row in rows if row.isdigit()]


def _nccl() -> str | None:
    import torch

    if not torch.version.cuda:
        return None
    return ".".join(str(part) for part in torch.cuda.nccl.version())
