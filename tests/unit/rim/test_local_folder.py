"""The rim's folder answers what the file system holds."""

from pathlib import Path

import pytest

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.local_folder import LocalFolder, LocalModels


def test_files_links_and_dangling_links(tmp_path: Path) -> None:
    (tmp_path / "blob").write_bytes(b"12345")
    (tmp_path / "model.safetensors").symlink_to("blob")
    (tmp_path / "gone.safetensors").symlink_to("nothing")
    (tmp_path / "folder").mkdir()
    folder = LocalFolder(tmp_path)
    assert folder.files() == {"blob": 5, "model.safetensors": 5}
    assert folder.read("model.safetensors", 1, 2) == b"23"


def test_a_path_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Trouble, match="is no folder"):
        LocalFolder(tmp_path / "nowhere")


def test_only_a_folder_with_a_model_is_one(tmp_path: Path) -> None:
    assert LocalModels().at(str(tmp_path)) is None
    assert LocalModels().at("deepseek-ai/DeepSeek-V4-Flash") is None
    (tmp_path / "config.json").write_text('{"model_type": "llama"}', encoding="utf-8")
    reading = LocalModels().at(str(tmp_path))
    assert reading is not None
    assert reading.facts.model_type == "llama"
