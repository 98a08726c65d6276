"""`dsv4deploy facts FOLDER` prints a document that `--facts` reads back."""

import json
from pathlib import Path

import pytest
import yaml

from dsv4deploy.cli.app import run
from dsv4deploy.source.facts_document import read_facts
from tests.folders import config, safetensors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_bytes(config(model_type="llama", num_hidden_layers=2, num_attention_heads=4))
    tensors = {"model.layers.0.self_attn.k_proj.weight": ("BF16", [2, 2], 8)}
    (tmp_path / "model.safetensors").write_bytes(safetensors(tensors))
    return tmp_path


@pytest.mark.parametrize(("options", "read"), [((), yaml.safe_load), (("--format", "json"), json.loads)])
def test_what_is_printed_reads_back(
    folder: Path, options: tuple[str, ...], read: object, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["facts", str(folder), *options]) == 0
    assert callable(read)
    document = read_facts(read(capsys.readouterr().out))
    assert document.diagnostics == ()
    assert (document.facts.model.model_type, document.facts.model.weight_bytes) == ("llama", 8)
    assert document.checkpoint is not None
    assert document.checkpoint.bytes_of() == 8


def test_a_folder_without_a_model_exits_three(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["facts", str(tmp_path)]) == 3
    assert "no config.json" in capsys.readouterr().err
