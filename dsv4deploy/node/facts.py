"""Facts of the node, under the keys of the facts document; what cannot be read is left out, never guessed."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
from pathlib import Path
from typing import Any

from dsv4deploy.node import gpus, procs
from dsv4deploy.node.files import text
from dsv4deploy.node.sites import sites

# The facts document's key for each distribution, under every name it had.
_PACKAGES = {
    "engine_version": ("sglang",),
    "torch": ("torch",),
    "triton": ("triton",),
    "flashinfer": ("flashinfer-python", "flashinfer"),
    "flashinfer_cubin": ("flashinfer-cubin",),
    "sgl_kernel": ("sglang-kernel", "sgl-kernel"),
    "deep_gemm": ("sgl-deep-gemm", "deep-gemm"),
    "nccl": ("nvidia-nccl-cu13", "nvidia-nccl-cu12"),
    "mooncake": ("mooncake-transfer-engine",),
}
_ABOUT = re.compile(r"^(Name|Version): (\S+)\s*$", re.MULTILINE)
_KIB_PER_GIB = 1 << 20
# PCI configuration space: where the lists of capabilities begin, their ids, and the kinds of port.
_FIRST_CAPABILITY, _FIRST_EXTENDED = 0x34, 0x100
_PCI_EXPRESS, _ACS = 0x10, 0x0D
_ROOT_PORT, _DOWNSTREAM_PORT = 4, 6


def facts() -> dict[str, Any]:
    """Everything that can be read about cards, host and network."""
    found: dict[str, Any] = {**_cards(), **_host(), **_pci(), **_network()}
    found["ports_in_use"] = sorted(procs.listening())
    return {key: value for key, value in found.items() if value is not None}


def packages(python: str) -> dict[str, str]:
    """Versions of the engine and what it stands on, from the venv's metadata, without starting its Python."""
    versions = installed(python)
    known = ((key, name) for key, names in _PACKAGES.items() for name in reversed(names) if name in versions)
    found = {key: versions[name] for key, name in known}
    cuda = next((v for n, v in sorted(versions.items()) if n.startswith("nvidia-cuda-runtime")), None)
    if cuda:
        found["cuda"] = ".".join(cuda.split(".")[:2])
    return found


def installed(python: str) -> dict[str, str]:
    """The version of every distribution in the venv, by its plain name."""
    versions: dict[str, str] = {}
    for site in sites(python).folders:
        for info in sorted(site.glob("*.dist-info")):
            name, _, version = info.name[: -len(".dist-info")].partition("-")
            versions.setdefault(plain(name), version)
        for info in sorted(site.glob("*.egg-info")):  # installed from its sources with `setup.py develop`
            said = dict(_ABOUT.findall(text(info / "PKG-INFO")))
            if {"Name", "Version"} <= said.keys():
                versions.setdefault(plain(said["Name"]), said["Version"])
    return versions


def plain(name: str) -> str:
    """The one spelling of a distribution's name, as PEP 503 has it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def _cards() -> dict[str, Any]:
    cards = gpus.cards()
    if not cards:
        return {} if cards is None else {"gpu_count": 0}
    first = cards[0]
    return {
        "arch": first["arch"],
        "gpu_name": first["name"],
        "gpu_count": len(cards),
        "gpu_memory_mib": first["memory_mib"],
        "gpu_memory_used_mib": [card["used_mib"] or 0 for card in cards],
        "gpu_busy": bool(gpus.users()),
        "driver": first["driver"],
        "vbios": first["vbios"],
        "driver_cuda": gpus.driver_cuda(),
        "topology": gpus.topology(),
        "p2p": gpus.p2p(),
        "driver_params": _driver_params(),
        "cuda_toolkit": _nvcc(),
        "cuda_compat_in_ld_path": compat_first(_told("/sbin/ldconfig", "-p")),
    }


def _driver_params() -> str | None:
    lines = [
        line.strip() for line in text("/proc/driver/nvidia/params").splitlines() if line.startswith("RegistryDwords")
    ]
    return "; ".join(lines) or None


def _nvcc() -> str | None:
    found = re.search(r"release ([\d.]+)", _told(shutil.which("nvcc") or "/usr/local/cuda/bin/nvcc", "--version"))
    return found[1] if found else None


def compat_first(cache: str) -> bool | None:
    """Whether the loader, by what `ldconfig -p` says, takes libcuda from CUDA's forward-compatibility folder."""
    found = re.search(r"^\s*libcuda\.so\.1 \(.*\) => (\S+)$", cache, re.MULTILINE)
    return "/compat/" in found[1] if found else None


def _told(*words: str) -> str:
    try:
        return subprocess.run(words, capture_output=True, text=True, timeout=20, check=False).stdout
    except (OSError, subprocess.TimeoutExpired):
        return ""


def _host() -> dict[str, Any]:
    memory = dict(re.findall(r"^(\w+):\s+(\d+) kB", text("/proc/meminfo"), re.MULTILINE))
    hard = resource.getrlimit(resource.RLIMIT_MEMLOCK)[1]
    return {
        "cpu": _first(r"^model name\s*:\s*(.+)$", "/proc/cpuinfo"),
        "host_ram_gib": _gib(memory.get("MemTotal")),
        "host_ram_available_gib": _gib(memory.get("MemAvailable")),
        "shm_gib": shm_gib(),
        "memlock": "unlimited" if hard == resource.RLIM_INFINITY else str(hard),
        "nofile": resource.getrlimit(resource.RLIMIT_NOFILE)[1],
        "numa_nodes": len(list(Path("/sys/devices/system/node").glob("node[0-9]*"))) or None,
        "iommu": iommu(),
    }


def iommu() -> str | None:
    """`off`, `pt` or `on`: by the kernel's command line, and by whether there are groups at all."""
    words = text("/proc/cmdline").split()
    groups = Path("/sys/kernel/iommu_groups")
    if not groups.is_dir():
        return None
    if not any(groups.iterdir()):
        return "off"
    return "pt" if "iommu=pt" in words or "iommu.passthrough=1" in words else "on"


def _pci() -> dict[str, Any]:
    """PCIe bridges with ACS redirect on, where the configuration space may be read (root only)."""
    redirects: dict[int, list[bool]] = {_ROOT_PORT: [], _DOWNSTREAM_PORT: []}
    for device in Path("/sys/bus/pci/devices").glob("*"):
        try:
            space = (device / "config").read_bytes()
        except OSError:
            continue
        kind, redirect = _port_kind(space), _acs_redirect(space)
        if redirect is not None and kind in redirects:
            redirects[kind].append(redirect)
    roots, downstream = redirects.values()
    if not roots and not downstream:
        return {}
    return {
        "acs_redirect": any(roots + downstream),
        "acs_redirect_root_ports": any(roots) if roots else None,
        "acs_redirect_switch_downstream": any(downstream) if downstream else None,
    }


def _port_kind(space: bytes) -> int | None:
    """The device/port type of the PCI Express capability (PCI Express Base 4.0, 7.5.3.2)."""
    at = space[_FIRST_CAPABILITY] if len(space) > _FIRST_CAPABILITY else 0
    for _ in range(48):
        if not at or at + 4 > len(space):
            return None
        if space[at] == _PCI_EXPRESS:
            return (space[at + 2] >> 4) & 0xF
        at = space[at + 1]
    return None


def _acs_redirect(space: bytes) -> bool | None:
    """Whether the ACS control register redirects requests (bit 2) or completions (bit 3); None without ACS."""
    at = _FIRST_EXTENDED
    for _ in range(64):
        if at + 8 > len(space):
            return None
        head = int.from_bytes(space[at : at + 4], "little")
        if head & 0xFFFF == _ACS:
            return bool(int.from_bytes(space[at + 6 : at + 8], "little") & 0b1100)
        at = head >> 20
        if not at:
            return None
    return None


def _network() -> dict[str, Any]:
    rdma = Path("/sys/class/infiniband")
    devices = sorted(one.name for one in rdma.iterdir()) if rdma.is_dir() else []
    nics = sorted(one.name for one in Path("/sys/class/net").glob("*") if one.name != "lo")
    return {"rdma": bool(devices), "rdma_devices": devices or None, "nics": nics}


def _first(pattern: str, path: str) -> str | None:
    found = re.search(pattern, text(path), re.MULTILINE)
    return found[1].strip() if found else None


def _gib(kib: str | None) -> float | None:
    return None if kib is None else round(int(kib) / _KIB_PER_GIB, 1)


def shm_gib() -> float | None:
    """The size of shared memory."""
    try:
        disk = os.statvfs("/dev/shm")  # noqa: S108 (its size is the question)
    except OSError:
        return None
    return round(disk.f_blocks * disk.f_frsize / (1 << 30), 1)
