"""Model folders for tests: small real safetensors files, and a folder that lives in memory."""

import json
from collections.abc import Mapping

Tensors = Mapping[str, tuple[str, list[int], int]]


class MemoryFolder:
    """Implements the folder port over bytes and remembers how much was read."""

    def __init__(self, files: Mapping[str, bytes]) -> None:
        self._files = dict(files)
        self.bytes_read = 0

    def files(self) -> Mapping[str, int]:
        return {name: len(data) for name, data in self._files.items()}

    def read(self, name: str, start: int, count: int) -> bytes:
        data = self._files[name][start : start + count]
        self.bytes_read += len(data)
        return data


def safetensors(tensors: Tensors) -> bytes:
    """A file with these tensors: name -> dtype, shape, bytes."""
    header, end = {}, 0
    for name, (dtype, shape, size) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [end, end + size]}
        end += size
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + bytes(end)


def index(files: Mapping[str, Tensors], total: int = 0) -> bytes:
    """The index of these files."""
    weight_map = {name: file for file, tensors in files.items() for name in tensors}
    return json.dumps({"metadata": {"total_size": total}, "weight_map": weight_map}).encode()


def config(**keys: object) -> bytes:
    """A `config.json`."""
    return json.dumps(keys).encode()
