"""The tool on a node reads a model folder; what it tells says the same as the folder itself."""

import json
from pathlib import Path
from typing import Any

import pytest

from dsv4deploy.model.checkpoint import ModelReading
from dsv4deploy.model.observed import ModelFolder
from dsv4deploy.node import model_folder
from dsv4deploy.rim.local_folder import LocalFolder
from dsv4deploy.source.model_folder import read_model_folder, read_on_node
from tests.folders import config, index, safetensors

CONFIG = config(
    model_type="deepseek_v4",
    architectures=["DeepseekV4ForCausalLM"],
    num_hidden_layers=1,
    hidden_size=64,
    num_attention_heads=4,
    n_routed_experts=3,
    quantization_config={"quant_method": "fp8"},
)
EXPERTS = {f"layers.0.ffn.experts.{number}.w1.weight": ("I8", [4, 4], 16) for number in range(3)}
SCALES = {f"layers.0.ffn.experts.{number}.w1.scale": ("F8_E8M0", [2], 2) for number in range(3)}
FIRST = {"embed.weight": ("BF16", [8, 4], 64), **EXPERTS, **SCALES}
SECOND = {"head.weight": ("BF16", [8, 4], 64), "mtp.0.attn.wkv.weight": ("F8_E4M3", [4], 4)}
ONE, TWO = (f"model-0000{number}-of-00002.safetensors" for number in (1, 2))
WHOLE = {
    "config.json": CONFIG,
    model_folder.INDEX: index({ONE: FIRST, TWO: SECOND}, total=999),
    ONE: safetensors(FIRST),
    TWO: safetensors(SECOND),
}
POINTER = b"version https://git-lfs.github.com/spec/v1\n"
FOLDERS: dict[str, dict[str, bytes | None]] = {
    "whole": {},
    "without an index": {model_folder.INDEX: None},
    "a shard missing": {TWO: None},
    "a shard cut short": {TWO: safetensors(SECOND)[:-5]},
    "a shard cut in its header": {TWO: safetensors(SECOND)[:20]},
    "a shard that is a pointer": {TWO: POINTER},
    "a shard that is something else": {TWO: b"\x10\0\0\0\0\0\0\0" + b"no header at all"},
    "no shard yet": {ONE: None, TWO: None},
    "a quantization of its own": {"hf_quant_config.json": b'{"quantization": {"quant_algo": "NVFP4"}}'},
}


def laid(folder: Path, changes: dict[str, bytes | None]) -> Path:
    for name, data in {**WHOLE, **changes}.items():
        if data is not None:
            (folder / name).write_bytes(data)
    return folder


def told(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(json.dumps(model_folder.read(folder)))
    return found


def without_notes(reading: ModelReading) -> ModelReading:
    return reading.model_copy(update={"notes": ()})


@pytest.mark.parametrize("changes", FOLDERS.values(), ids=FOLDERS)
def test_what_a_node_reads_says_what_the_folder_says(tmp_path: Path, changes: dict[str, bytes | None]) -> None:
    folder = laid(tmp_path, changes)
    answer = ModelFolder.model_validate(told(folder))
    assert without_notes(read_on_node(answer)) == without_notes(read_model_folder(LocalFolder(folder)))


def test_the_experts_of_a_layer_travel_as_one(tmp_path: Path) -> None:
    tensors = told(laid(tmp_path, {}))["tensors"]
    assert ["layers.0.ffn.experts.0.w1.weight", "I8", 48] in tensors
    assert len(tensors) == 5


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({TWO: None}, f"1 of 2 shards ({TWO}) are missing or cut short"),
        ({TWO: safetensors(SECOND)[:-1]}, f"1 of 2 shards ({TWO}) are missing or cut short"),
        ({ONE: POINTER, TWO: POINTER}, f"2 of 2 shards ({ONE}, {TWO}) are Git LFS pointers"),
        ({TWO: b"\x10\0\0\0\0\0\0\0" + b"no header at all"}, f"1 of 2 shards ({TWO}) are no safetensors files"),
        ({"config.json": b"<html>"}, "{folder}/config.json is no JSON"),
        ({"config.json": None}, "{folder} holds no config.json"),
    ],
)
def test_a_folder_that_cannot_be_served_says_why(
    tmp_path: Path, changes: dict[str, bytes | None], message: str
) -> None:
    folder = laid(tmp_path, changes)
    assert [one for one, _ in model_folder.problems(folder, model_folder.read(folder))] == [
        message.format(folder=folder)
    ]


@pytest.mark.parametrize("other", ["params.json", "weights.gguf"])
def test_other_kinds_of_checkpoint_are_let_be(tmp_path: Path, other: str) -> None:
    (tmp_path / other).touch()
    assert model_folder.problems(tmp_path, model_folder.read(tmp_path)) == []


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    assert model_folder.problems(gone, model_folder.read(gone)) == [
        (f"the service user cannot read {gone}", "correct model.path or its rights")
    ]
