"""A model folder in few words: its configuration, its tensors grouped, and which shards are not whole."""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any, Dict, NamedTuple

Json = Dict[str, Any]

INDEX = "model.safetensors.index.json"
_LFS = b"version https://git-lfs"
_MOST_HEADER = 100_000_000  # the format's own limit
_PREFIX = 8
# Experts differ in nothing but their number, and a large model has 300,000 tensors of them.
_EXPERT = re.compile(r"(experts\.)\d+\.")
_NUMBERED = re.compile(r"(.*-)(\d{5,6})-of-(\d{5,6})\.safetensors")
# Kinds of checkpoint that need no config.json.
_OTHERS = ("params.json", "*.gguf")


class Shards(NamedTuple):
    """The weight files that should be there: tensors as (name, dtype) to bytes, and what is wrong with some files."""

    wanted: list[str]
    tensors: dict[tuple[str, str], int]
    missing: list[str]
    truncated: list[str]
    pointers: list[str]
    unreadable: list[str]
    strange: list[str]


def read(folder: Path) -> Json | None:
    """What the folder tells; None if it holds no `config.json`.

    Answers `config`, `quantization`, `tensors` (name, dtype, bytes; experts of one layer as one), `names` where no
    header could be read, `total_size` by the index, the lists of `Shards`, and `broken`: texts that are no JSON.
    """
    if not os.access(str(folder), os.R_OK | os.X_OK) or not (folder / "config.json").is_file():
        return None
    broken: list[str] = []
    config, quantization, index = (
        _tree(folder / name, broken) for name in ("config.json", "hf_quant_config.json", INDEX)
    )
    mapped = index.get("weight_map")
    names = {str(name): str(file) for name, file in mapped.items()} if isinstance(mapped, dict) else {}
    shards = _shards(folder, sorted(set(names.values())) or _numbered(folder))
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return {
        "config": config,
        "quantization": quantization,
        "total_size": total if isinstance(total, int) else None,
        "names": [] if shards.tensors else sorted({_EXPERT.sub(r"\g<1>0.", name) for name in names}),
        "broken": broken,
        **shards._asdict(),
        "tensors": [[name, dtype, size] for (name, dtype), size in sorted(shards.tensors.items())],
    }


def problems(folder: Path, told: Json | None) -> list[tuple[str, str]]:
    """What stands against serving the folder, and what to do about it."""
    if not folder.is_dir() or not os.access(str(folder), os.R_OK | os.X_OK):
        return [(f"the service user cannot read {folder}", "correct model.path or its rights")]
    if told is None:
        if any(True for pattern in _OTHERS for _ in folder.glob(pattern)):
            return []
        return [(f"{folder} holds no config.json", "name the folder that holds config.json and *.safetensors")]
    found = [(f"{folder / name} is no JSON", "fetch it again") for name in told["broken"]]
    shards = len(told["wanted"])
    ways = (
        ("pointers", "are Git LFS pointers", "git lfs pull"),
        ("unreadable", "cannot be read by the service user", "correct their rights"),
        ("strange", "are no safetensors files", "fetch them again"),
    )
    found += [(f"{_few(told[key], shards)} {what}", remedy) for key, what, remedy in ways if told[key]]
    bad = sorted(told["missing"] + told["truncated"])
    return found + ([(f"{_few(bad, shards)} are missing or cut short", "fetch them again")] if bad else [])


def _few(names: list[str], of: int) -> str:
    return f"{len(names)} of {of} shards ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})"  # noqa: PLR2004 (enough to go and look)


def _tree(path: Path, broken: list[str]) -> Json:
    try:
        tree = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError, RecursionError):
        tree = None
    if not isinstance(tree, dict):
        broken.append(path.name)
        return {}
    return tree


def _numbered(folder: Path) -> list[str]:
    """The weight files that should be there, by `-00001-of-00004` in the names of those that are."""
    found = {one.name for one in folder.glob("*.safetensors")}
    for name in list(found):
        parts = _NUMBERED.fullmatch(name)
        if parts and int(parts[3]) <= len(found) * 100:
            width = len(parts[2])
            found |= {f"{parts[1]}{n:0{width}}-of-{parts[3]}.safetensors" for n in range(1, int(parts[3]) + 1)}
    return sorted(found)


def _shards(folder: Path, wanted: list[str]) -> Shards:
    tensors: Counter[tuple[str, str]] = Counter()
    found = Shards(wanted, tensors, [], [], [], [], [])
    for name in wanted:
        _shard(folder / name, found, tensors)
    return found


def _shard(path: Path, found: Shards, tensors: Counter[tuple[str, str]]) -> None:
    """Read one header: its tensors go to `tensors`, and what is wrong with the file to `found`."""
    try:
        size = path.stat().st_size
        with path.open("rb") as source:
            first = source.read(len(_LFS))
            length = int.from_bytes(first[:_PREFIX], "little")
            source.seek(_PREFIX)
            text = source.read(length) if length <= _MOST_HEADER and first != _LFS else b""
    except FileNotFoundError:
        found.missing.append(path.name)
        return
    except OSError:
        found.unreadable.append(path.name)
        return
    if first == _LFS:
        found.pointers.append(path.name)
    elif len(first) < _PREFIX or (length <= _MOST_HEADER and _PREFIX + length > size):
        found.truncated.append(path.name)
    else:
        _count(path.name, text, size, found, tensors)


def _count(name: str, text: bytes, size: int, found: Shards, tensors: Counter[tuple[str, str]]) -> None:
    end = 0
    own: Counter[tuple[str, str]] = Counter()
    try:
        for tensor, entry in json.loads(text).items():
            if tensor != "__metadata__":
                begin, behind = map(int, entry["data_offsets"])
                own[_EXPERT.sub(r"\g<1>0.", tensor), str(entry["dtype"])] += max(0, behind - begin)
                end = max(end, behind)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        found.strange.append(name)
        return
    tensors.update(own)
    if size < _PREFIX + len(text) + end:
        found.truncated.append(name)
