"""The same profile gives the same bytes under every interpreter that the project supports."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from house import EXAMPLES, ROOT

pytestmark = pytest.mark.oracle
VERSIONS = ("3.11", "3.12", "3.13")
OTHERS = [version for version in VERSIONS if not sys.version.startswith(f"{version}.")]


def interpreter(version: str) -> Path | None:
    """A Python of this version: on the path, or one of those that pyenv keeps."""
    kept = sorted(Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")).glob(f"versions/{version}.*/bin/python"))
    found = shutil.which(f"python{version}")
    return next((path for path in [*kept, *([Path(found)] if found else [])] if _is(path, version)), None)


def _is(path: Path, version: str) -> bool:
    said = subprocess.run(
        [path, "-c", "import venv, sys; print(sys.version)"], capture_output=True, text=True, check=False
    )
    return said.stdout.startswith(f"{version}.")


def rendered(python: Path | str, folder: Path, **surroundings: str) -> dict[str, bytes]:
    folder.mkdir()
    for example in EXAMPLES:
        words = ["render", str(example), "-o", str(folder / f"{example.parent.name}-{example.stem}")]
        environment = {"PATH": os.environ["PATH"], "HOME": str(folder), "PYTHONPATH": str(ROOT), **surroundings}
        subprocess.run(
            [python, "-m", "dsv4deploy", *words], cwd=folder, env=environment, check=True, capture_output=True
        )
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and path.parent != folder
    }


@pytest.mark.parametrize("version", OTHERS)
def test_another_interpreter_and_other_surroundings_render_the_same_bytes(version: str, tmp_path: Path) -> None:
    python = interpreter(version)
    if python is None:
        pytest.skip(f"needs Python {version}")
    subprocess.run([python, "-m", "venv", tmp_path / "venv"], check=True)
    own = tmp_path / "venv/bin/python"
    needs = subprocess.run(
        [own, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "jinja2", "packaging", "pydantic", "pyyaml", "rich", "typer"],
        check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert needs.returncode == 0, needs.stderr
    other = rendered(own, tmp_path / "other", PYTHONHASHSEED="7", TZ="Asia/Tokyo", LC_ALL="C")
    ours = rendered(sys.executable, tmp_path / "ours", PYTHONHASHSEED="1", TZ="UTC", LANG="C.UTF-8")
    assert other == ours
