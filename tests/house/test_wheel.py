"""The wheel holds everything that the code looks for at run time, and only what the project is."""

import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, check=True, capture_output=True)
    with zipfile.ZipFile(next(folder.glob("*.whl"))) as opened:
        yield opened


def shipped(folder: str) -> set[str]:
    ignored = {"__pycache__", ".gitkeep"}
    return {
        str(path.relative_to(ROOT))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and not ignored & {*path.parts}
    }


@pytest.mark.parametrize("folder", ["templates", "playbooks"])
def test_templates_and_playbooks_are_in_the_wheel(wheel: zipfile.ZipFile, folder: str) -> None:
    assert {f"dsv4deploy/_shipped/{name}" for name in shipped(folder)} <= {*wheel.namelist()}


def test_all_of_the_package_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert shipped("dsv4deploy") <= {*wheel.namelist()}


def test_nothing_else_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    assert {name.split("/")[0].split("-")[0] for name in wheel.namelist()} == {"dsv4deploy"}
    assert not [name for name in wheel.namelist() if "__pycache__" in name]


def test_an_installed_wheel_renders(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    wheel.extractall(tmp_path / "site")
    profile = ROOT / "examples/dsv4-flash-nvfp4-tp4/profile.yaml"
    command = [sys.executable, "-m", "dsv4deploy", "render", str(profile), "--stdout", "serve.sh"]
    run = subprocess.run(
        command,
        cwd=tmp_path / "site",
        env={"PYTHONPATH": str(tmp_path / "site")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.startswith("#!/usr/bin/env bash\n")
