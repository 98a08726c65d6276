"""Compares the files of a model folder with the sha256 that came with them, wherever that is written down.

Sources: the names that a cache of the hub links to; the metadata that `hf download --local-dir` leaves; `SHA256SUMS`.
"""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dsv4deploy.node.files import digest, text

_SHA256 = re.compile(r"[0-9a-f]{64}")
_SUM = re.compile(r"^([0-9a-f]{64})[ \t]+\*?(?:\./)?(\S.*)$", re.MULTILINE)
_SUMS = "SHA256SUMS"
_AT_ONCE = 8  # hashing lets the other threads run; a disk gives no more to more readers


def compare(folder: Path) -> dict[str, Any]:
    """`right`: how many files are what they should be; `wrong`: names; `unknown`: names of weights without a digest."""
    listed = {name: wanted for wanted, name in _SUM.findall(text(folder / _SUMS))}
    files = sorted(one for one in folder.iterdir() if one.is_file() and one.name != _SUMS)
    wanted = {one: listed.get(one.name) or _linked(one) or _downloaded(one) for one in files}
    known = [one for one in files if wanted[one]]
    with ThreadPoolExecutor(min(_AT_ONCE, os.cpu_count() or 1)) as threads:
        found = dict(zip(known, threads.map(digest, known)))
    wrong = [one.name for one in known if found[one] != wanted[one]]
    unknown = [one.name for one in files if not wanted[one] and one.suffix == ".safetensors"]
    lost = sorted(set(listed) - {one.name for one in files})
    return {"right": len(known) - len(wrong), "wrong": wrong + lost, "unknown": unknown}


def _linked(file: Path) -> str | None:
    """The hub's cache keeps large files under their sha256, and small ones under another digest."""
    name = os.path.basename(os.readlink(str(file))) if file.is_symlink() else ""
    return name if _SHA256.fullmatch(name) else None


def _downloaded(file: Path) -> str | None:
    """Its metadata have three lines: commit, digest (a sha256 for large files), time."""
    lines = text(file.parent / ".cache/huggingface/download" / f"{file.name}.metadata").splitlines()
    found = [line for line in lines[1:2] if _SHA256.fullmatch(line)]
    return found[0] if found else None
