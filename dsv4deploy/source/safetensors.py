"""The header of a safetensors file: names, dtypes, shapes and sizes of its tensors, without reading a tensor.

A header comes from anybody, so nothing in it is believed: its length is bounded, every entry is checked, and what does
not fit is told in one sentence.
"""

import json
from dataclasses import dataclass
from typing import TypeGuard

# The format's own limit; a header of DeepSeek-V4's largest shard has about 1 MB.
MOST_BYTES = 100_000_000
PREFIX = 8


class HeaderError(ValueError):
    """The file does not start with a safetensors header."""


class CutShortError(HeaderError):
    """The file ends inside its header."""


@dataclass(frozen=True, slots=True)
class Tensor:
    """One tensor of a header; `bytes` as its offsets say."""

    name: str
    dtype: str
    shape: tuple[int, ...]
    bytes: int


@dataclass(frozen=True, slots=True)
class Header:
    """All tensors of one file, and the size that the file must have."""

    tensors: tuple[Tensor, ...]
    file_size: int


def header_length(first: bytes, file_size: int) -> int:
    """Length of the JSON text that follows the first eight bytes.

    Raises:
        HeaderError: absurdly long.
        CutShortError: longer than the file.
    """
    if len(first) < PREFIX:
        raise CutShortError(f"only {len(first)} bytes long")
    length = int.from_bytes(first[:PREFIX], "little")
    if length > MOST_BYTES:
        raise HeaderError(f"its header would be {length} bytes long")
    if PREFIX + length > file_size:
        raise CutShortError(f"ends inside its header ({file_size} of {PREFIX + length} bytes)")
    return length


def parse_header(text: bytes) -> Header:
    """The header in the JSON `text`.

    Raises:
        HeaderError: no JSON object, or an entry that is no tensor.
    """
    try:
        entries = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HeaderError("its header is no JSON") from error
    if not isinstance(entries, dict):
        raise HeaderError("its header is no JSON object")
    tensors = tuple(_tensor(name, entry) for name, entry in entries.items() if name != "__metadata__")
    ends = [entry["data_offsets"][1] for name, entry in entries.items() if name != "__metadata__"]
    return Header(tensors, PREFIX + len(text) + max(ends, default=0))


def _tensor(name: str, entry: object) -> Tensor:
    if not isinstance(entry, dict):
        raise HeaderError(f"{name[:80]!r} is no tensor")
    dtype, shape, offsets = entry.get("dtype"), entry.get("shape"), entry.get("data_offsets")
    if not (isinstance(dtype, str) and _sizes(shape) and _sizes(offsets) and len(offsets) == 2):  # noqa: PLR2004 (begin and end)
        raise HeaderError(f"{name[:80]!r} has no dtype, shape and offsets")
    if offsets[0] > offsets[1]:
        raise HeaderError(f"{name[:80]!r} ends before it begins")
    return Tensor(name, dtype, tuple(shape), offsets[1] - offsets[0])


def _sizes(value: object) -> TypeGuard[list[int]]:
    return isinstance(value, list) and all(type(item) is int and item >= 0 for item in value)
