"""Wheels: whether one fits an interpreter, and unpacking it beside other packages without an installer."""

from __future__ import annotations

import io
import os
import re
import zipfile
from email.parser import BytesParser
from pathlib import Path
from typing import Iterator, NamedTuple

from dsv4deploy.node.venv import Venv

_NAME = re.compile(
    r"(?P<name>[^-]+)-(?P<version>[^-]+)(-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)
_INFO = re.compile(r"[^/]+\.dist-info/(METADATA|RECORD)")
_MANYLINUX = re.compile(r"manylinux_(\d+)_(\d+)_(.+)")
_LEGACY = {"manylinux1": "manylinux_2_5", "manylinux2010": "manylinux_2_12", "manylinux2014": "manylinux_2_17"}


class WheelError(ValueError):
    """The file is no wheel that can be laid down by itself."""


class Tags(NamedTuple):
    """What a wheel's file name says."""

    name: str
    version: str
    python: list[str]
    abi: list[str]
    platform: list[str]


def tags(name: str) -> Tags:
    """The parts of a wheel's file name.

    Raises:
        WheelError: it is no such name.
    """
    found = _NAME.fullmatch(name.rsplit("/", 1)[-1])
    if not found:
        raise WheelError(f"{name} is no wheel's name (name-version-python-abi-platform.whl)")
    split = {key: found[key].split(".") for key in ("python", "abi", "platform")}
    return Tags(found["name"], found["version"], split["python"], split["abi"], split["platform"])


def contents(data: bytes) -> list[str]:
    """The files of a wheel that are laid down, as paths beside the packages.

    Raises:
        WheelError: it is no wheel, or a path in it leads elsewhere.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
    except zipfile.BadZipFile:
        raise WheelError("it is no wheel: no zip archive") from None
    for name in names:
        if name.startswith("/") or "\\" in name or any(part in ("", ".", "..") for part in name.split("/")):
            raise WheelError(f"it holds {name!r}, which leads out of it")
    if not any(name.endswith(".dist-info/WHEEL") for name in names):
        raise WheelError("it is no wheel: no dist-info")
    return sorted(found for name in names if (found := _laid(name)))


def laid(data: bytes) -> Iterator[tuple[str, int, bytes]]:
    """Path, mode and content of each file that is laid down. Scripts, headers and data are left out."""
    contents(data)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        for info in archive.infolist():
            path = _laid(info.filename)
            if path and not info.is_dir():
                yield path, 0o755 if (info.external_attr >> 16) & 0o111 else 0o644, archive.read(info)


def unpack(data: bytes, folder: Path) -> list[str]:
    """Write the files of a wheel into `folder`; their paths."""
    for path, mode, content in laid(data):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o755)
        target.write_bytes(content)
        os.chmod(str(target), mode)
    return contents(data)


def about(data: bytes) -> tuple[str, str]:
    """The version that the metadata of a wheel says, and the path of its RECORD beside the packages.

    Raises:
        WheelError: it has none, or not one.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        found = {name.rpartition("/")[2]: name for name in archive.namelist() if _INFO.fullmatch(name)}
        if set(found) != {"METADATA", "RECORD"}:
            raise WheelError("it is no whole wheel: METADATA and RECORD belong into its dist-info")
        metadata = BytesParser().parsebytes(archive.read(found["METADATA"]))
    return str(metadata["Version"]), found["RECORD"]


def misfit(wheel: Tags, venv: Venv) -> str:
    """Why an interpreter cannot use the wheel; empty if it can."""
    major, minor = venv.version.split(".")[:2]
    own = f"cp{major}{minor}"
    pythons = {own, f"py{major}{minor}", *(f"py{major}{n}" for n in range(int(minor))), f"py{major}"}
    # A stable ABI of an older Python is that of all newer ones.
    stable = {f"cp{major}{n}" for n in range(2, int(minor) + 1)} if "abi3" in wheel.abi else set()
    if not set(wheel.python) & (pythons | stable):
        return f"it is for {'.'.join(wheel.python)}, the venv's Python is {own}"
    if not set(wheel.abi) & {own, "abi3", "none"}:
        return f"its ABI is {'.'.join(wheel.abi)}, that of the venv's Python is {own}"
    if not any(_runs_on(platform, venv) for platform in wheel.platform):
        libc = " ".join(venv.libc)
        return f"it is for {'.'.join(wheel.platform)}, the node is {venv.platform} with {libc}"
    return ""


def _runs_on(platform: str, venv: Venv) -> bool:
    own = venv.platform.replace("-", "_").replace(".", "_")
    if platform in ("any", own):
        return True
    for old, new in _LEGACY.items():
        if platform.startswith(old + "_"):
            platform = new + platform[len(old) :]
    found = _MANYLINUX.fullmatch(platform)
    if not found or f"linux_{found[3]}" != own or venv.libc[0] != "glibc":
        return False
    return [int(one) for one in venv.libc[1].split(".")[:2]] >= [int(found[1]), int(found[2])]


def _laid(name: str) -> str | None:
    top, _, rest = name.partition("/")
    if top.endswith(".data"):
        kind, _, path = rest.partition("/")
        return path if kind in ("purelib", "platlib") else None
    return name


def left_out(data: bytes) -> list[str]:
    """The scripts, headers and data of a wheel, which only an installer could place."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return sorted(info.filename for info in archive.infolist() if not info.is_dir() and not _laid(info.filename))
