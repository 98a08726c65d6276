"""A model folder as facts: configuration, weight index and safetensors headers; no tensor is read.

It is pure over a port, so that it reads a folder here, on a node or in a test in the same way.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from dsv4deploy.model.checkpoint import Checkpoint, ModelReading, Share, TensorClass
from dsv4deploy.model.facts import ModelFacts
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.model_config import geometry, model_facts, read_config
from dsv4deploy.source.safetensors import (
    PREFIX,
    CutShortError,
    Header,
    HeaderError,
    Tensor,
    header_length,
    parse_header,
)
from dsv4deploy.source.tensor_names import is_draft, is_scale, tensor_class

INDEX = "model.safetensors.index.json"
LFS = b"version https://git-lfs"
# An index of DeepSeek-V4-Pro-NVFP4 (about 290,000 tensors) has some 30 MB.
MOST_TEXT = 200_000_000
NUMBERED = re.compile(r"(.*-)(\d{5,6})-of-(\d{5,6})\.safetensors")
GATES = ("gate_proj.weight", "w1.weight")
PACKED = {"I8", "U8", "F4"}
FORMATS = {**dict.fromkeys(PACKED, "mxfp4"), "F8_E4M3": "fp8", "BF16": "bf16", "F16": "fp16", "I32": "int4"}


class Folder(Protocol):
    """A folder of files, wherever it is."""

    def files(self) -> Mapping[str, int]:
        """Size in bytes of every file directly in it."""

    def read(self, name: str, start: int, count: int) -> bytes:
        """At most `count` bytes of a file from `start` on."""


@dataclass(frozen=True, slots=True)
class Shards:
    """The weight files of a folder: headers of the good ones, and what is wrong with the others."""

    headers: Mapping[str, Header]
    missing: tuple[str, ...] = ()
    truncated: tuple[str, ...] = ()
    pointers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every file that should be there was read."""
        return bool(self.headers) and not (self.missing or self.truncated or self.pointers or self.notes)


def read_model_folder(folder: Folder) -> ModelReading:
    """Everything that a model folder tells.

    Raises:
        Trouble: it holds no `config.json` that can be read.
    """
    files = folder.files()
    if "config.json" not in files:
        raise Trouble("no config.json in the model folder", "name the folder that holds config.json and *.safetensors")
    notes: list[str] = []
    config = read_config(
        _json(folder, files, "config.json"), _json_or_none(folder, files, "hf_quant_config.json", notes)
    )
    index = _json_or_none(folder, files, INDEX, notes)
    shards = _shards(folder, files, _expected(index, files))
    shape = geometry(config)
    tensors = [tensor for header in shards.headers.values() for tensor in header.tensors]
    names = [tensor.name for tensor in tensors] or list(_weight_map(index))
    facts = {
        **model_facts(config),
        **_tensor_facts(tensors, names, shape.layers),
        **_shard_facts(shards),
        "weight_bytes": _weight_bytes(tensors, index),
    }
    facts = {key: value for key, value in facts.items() if value is not None}
    checkpoint = Checkpoint(
        geometry=shape, weights=_weights(tensors, shape.layers), weights_from="headers" if tensors else None
    )
    notes += [*shards.notes, *_caveats(shards, facts)]
    return ModelReading(facts=ModelFacts.model_validate(facts), checkpoint=checkpoint, notes=tuple(notes))


def _shard_facts(shards: Shards) -> dict[str, object]:
    """Empty lists say that nothing is wrong; a folder without any weight file says nothing."""
    if not (shards.headers or shards.missing or shards.truncated or shards.pointers):
        return {}
    return {
        "index_complete": shards.whole,
        "missing_shards": shards.missing,
        "truncated_shards": shards.truncated,
        "lfs_pointers": shards.pointers,
    }


def _caveats(shards: Shards, facts: Mapping[str, object]) -> list[str]:
    if not shards.headers:
        return ["weight_bytes is the index's total_size: no header was read"] if "weight_bytes" in facts else []
    return [] if shards.whole else ["weight_bytes counts only the files whose headers could be read"]


def _json(folder: Folder, files: Mapping[str, int], name: str) -> Mapping[str, Any]:
    if files[name] > MOST_TEXT:
        raise Trouble(f"{name} is {files[name]} bytes long", "this is no model folder of Hugging Face's kind")
    text = folder.read(name, 0, files[name])
    if text.startswith(LFS):
        raise Trouble(f"{name} is a Git LFS pointer", "git lfs pull")
    try:
        tree = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise Trouble(f"{name} is no JSON: {error}", "fetch the file again") from error
    if not isinstance(tree, dict):
        raise Trouble(f"{name} holds no JSON object", "fetch the file again")
    return tree


def _json_or_none(folder: Folder, files: Mapping[str, int], name: str, notes: list[str]) -> Mapping[str, Any]:
    if name not in files:
        return {}
    try:
        return _json(folder, files, name)
    except Trouble as trouble:
        notes.append(trouble.message)
        return {}


def _weight_map(index: Mapping[str, Any]) -> Mapping[str, str]:
    found = index.get("weight_map")
    return {str(name): str(file) for name, file in found.items()} if isinstance(found, dict) else {}


def _expected(index: Mapping[str, Any], files: Mapping[str, int]) -> list[str]:
    """The weight files that should be there: by the index, else by `-00001-of-00004` in the names."""
    named = set(_weight_map(index).values())
    if named:
        return sorted(named)
    found = {name for name in files if name.endswith(".safetensors")}
    for name in list(found):
        if (parts := NUMBERED.fullmatch(name)) and int(parts[3]) <= len(found) * 100:
            width = len(parts[2])
            found |= {f"{parts[1]}{n:0{width}}-of-{parts[3]}.safetensors" for n in range(1, int(parts[3]) + 1)}
    return sorted(found)


def _shards(folder: Folder, files: Mapping[str, int], expected: Iterable[str]) -> Shards:
    headers: dict[str, Header] = {}
    missing, truncated, pointers, notes = [], [], [], []
    for name in expected:
        if name not in files:
            missing.append(name)
            continue
        first = folder.read(name, 0, len(LFS))
        if first == LFS:
            pointers.append(name)
            continue
        try:
            header = parse_header(folder.read(name, PREFIX, header_length(first, files[name])))
        except CutShortError:
            truncated.append(name)
        except HeaderError as error:
            notes.append(f"{name} is no safetensors file: {error}")
        else:
            headers[name] = header
            if files[name] < header.file_size:
                truncated.append(name)
    return Shards(headers, tuple(missing), tuple(truncated), tuple(pointers), tuple(notes))


def _tensor_facts(tensors: list[Tensor], names: list[str], layers: int | None) -> dict[str, object]:
    """What only the files tell; names alone if the index is all there is."""
    if not names:
        return {}
    told: dict[str, object] = {
        "has_scale_tensors": any(map(is_scale, names)),
        "has_mtp": any(is_draft(name, layers) for name in names),
        "bundled_draft": next((kind for kind in ("dspark", "dflash") if any(kind in name for name in names)), None),
    }
    if tensors:
        own = [tensor for tensor in tensors if not is_draft(tensor.name, layers)]
        told["tensor_dtypes"] = tuple(sorted({tensor.dtype for tensor in tensors}))
        told["experts_dtype"] = _kept_as(own, TensorClass.EXPERTS)
        told["shared_experts_dtype"] = _kept_as(own, TensorClass.SHARED_EXPERTS)
        told.update(_draft_experts([tensor for tensor in tensors if is_draft(tensor.name, layers)]))
    return {key: value for key, value in told.items() if value is not None}


def _draft_experts(drafts: list[Tensor]) -> dict[str, object]:
    """The width of the draft's experts, and how many of their rows and columns share a scale."""
    shapes = {tensor.name: tensor.shape for tensor in drafts if len(tensor.shape) > 1}
    for name, shape in shapes.items():
        if tensor_class(name) is TensorClass.EXPERTS and name.endswith(GATES):
            scales = shapes.get(f"{name}_scale_inv")
            blocks = tuple(-(-whole // parts) for whole, parts in zip(shape, scales, strict=True)) if scales else None
            return {"mtp_moe_intermediate_size": shape[-2], "mtp_weight_block_size": blocks}
    return {}


def _kept_as(tensors: list[Tensor], wanted: TensorClass) -> str | None:
    """The number format of one class of weights: most of its bytes decide, its scales tell MXFP4 from NVFP4."""
    mine = [tensor for tensor in tensors if tensor_class(tensor.name) is wanted]
    sizes: Counter[str] = Counter()
    for tensor in mine:
        if not is_scale(tensor.name):
            sizes[tensor.dtype] += tensor.bytes
    if not sizes:
        return None
    dtype = sizes.most_common(1)[0][0]
    scales = {tensor.dtype for tensor in mine if is_scale(tensor.name)}
    if dtype in PACKED and "F8_E4M3" in scales:
        return "nvfp4"
    if dtype == "I8" and not scales & {"F8_E8M0", "U8"}:
        return "int8"
    return FORMATS.get(dtype, dtype.lower())


def _weight_bytes(tensors: list[Tensor], index: Mapping[str, Any]) -> int | None:
    if tensors:
        return sum(tensor.bytes for tensor in tensors)
    metadata = index.get("metadata")
    total = metadata.get("total_size") if isinstance(metadata, dict) else None
    return total if isinstance(total, int) and total > 0 else None


def _weights(tensors: list[Tensor], layers: int | None) -> tuple[Share, ...]:
    sizes: Counter[tuple[TensorClass, str, bool]] = Counter()
    for tensor in tensors:
        sizes[tensor_class(tensor.name), tensor.dtype, is_draft(tensor.name, layers)] += tensor.bytes
    return tuple(
        Share(tensor_class=found, dtype=dtype, bytes=size, draft=draft)
        for (found, dtype, draft), size in sorted(sizes.items())
    )
