"""The folder looks like a virtual environment of the engine; the archive makes the same one."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest
from rehearsals import files, sources

from dsv4deploy.rehearsal import install as module
from dsv4deploy.rehearsal.install import install, pack

ASK = "import sglang, importlib.metadata as m; print(sglang.__version__, m.version('sglang'), sglang.REHEARSAL)"


def asked(python: Path) -> str:
    return subprocess.run([python, "-I", "-c", ASK], capture_output=True, text=True, check=True).stdout.strip()


def test_its_python_finds_the_engine_of_the_version(tmp_path: Path) -> None:
    python = install(tmp_path / "venv", files("0.5.17"))
    assert asked(python) == "0.5.17 0.5.17 True"
    assert (tmp_path / "venv" / "pyvenv.cfg").exists()


def test_it_replaces_an_older_rehearsal_and_nothing_else(tmp_path: Path) -> None:
    install(tmp_path / "venv", files("0.5.17"))
    assert asked(install(tmp_path / "venv", files("0.5.21"))) == "0.5.21 0.5.21 True"
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "precious").write_text("")
    with pytest.raises(FileExistsError, match="is not empty and holds no rehearsal"):
        install(tmp_path / "other", files("0.5.21"))
    assert (tmp_path / "other" / "precious").exists()


def test_the_archive_is_the_same_each_time_and_installs_without_us(tmp_path: Path) -> None:
    for name in ("one.pyz", "two.pyz"):
        pack(tmp_path / name, files("0.5.21"))
    assert (tmp_path / "one.pyz").read_bytes() == (tmp_path / "two.pyz").read_bytes()
    made = subprocess.run(
        [sys.executable, "-I", tmp_path / "one.pyz", tmp_path / "venv"], capture_output=True, text=True, check=True
    )
    assert asked(Path(made.stdout.strip())) == "0.5.21 0.5.21 True"


def test_what_runs_on_a_node_needs_only_the_standard_library_of_an_old_python() -> None:
    texts = {**sources(), "install.py": Path(module.__file__ or "").read_text(encoding="utf-8")}
    for name, text in texts.items():
        for node in ast.walk(ast.parse(text, name, feature_version=(3, 8))):
            if isinstance(node, ast.ImportFrom) and not node.level:
                assert str(node.module).split(".")[0] in sys.stdlib_module_names
            elif isinstance(node, ast.Import):
                assert {alias.name.split(".")[0] for alias in node.names} <= sys.stdlib_module_names


def test_its_nvidia_smi_shows_the_pretended_cards(tmp_path: Path) -> None:
    install(tmp_path / "venv", files("0.5.21", {"gpus": 2, "arch": "sm_90", "gpu_name": "NVIDIA H200"}))
    smi = str(tmp_path / "venv" / "bin" / "nvidia-smi")
    asked = [smi, "--query-gpu=index,name,compute_cap", "--format=csv,noheader,nounits"]
    shown = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert shown == "0, NVIDIA H200 (rehearsal), 9.0\n1, NVIDIA H200 (rehearsal), 9.0\n"
    assert subprocess.run([smi, "-q"], capture_output=True, check=False).returncode == 2
