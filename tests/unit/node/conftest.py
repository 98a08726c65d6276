"""The shipped signatures, the recorded logs with their answer key, and a node of a test's own."""

import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import toys
import yaml
from local_node import Node

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.signatures import catalogue, compiled

SAMPLES = Path(__file__).parents[2] / "samples"
KEY: dict[str, dict[str, Any]] = yaml.safe_load((SAMPLES / "expected.yaml").read_text(encoding="utf-8"))["logs"]


@pytest.fixture(scope="session")
def signatures() -> Catalogue:
    return Catalogue(compiled(catalogue()))


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "recorded" in metafunc.fixturenames:
        metafunc.parametrize("recorded", KEY)


@pytest.fixture
def log(recorded: str) -> bytes:
    return (SAMPLES / recorded).read_bytes()


@pytest.fixture
def key(recorded: str) -> dict[str, Any]:
    return KEY[recorded]


@pytest.fixture
def node(tmp_path: Path) -> Iterator[Node]:
    one = Node(tmp_path)
    yield one
    one.wipe()


@pytest.fixture
def eventually() -> Callable[[Callable[[], object], float], None]:
    def until(check: Callable[[], object], limit_s: float = 15) -> None:
        end = time.monotonic() + limit_s
        while not check():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.05)

    return until


@pytest.fixture(scope="session")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment with the toy engine and its compiled files, copied for every test."""
    folder = tmp_path_factory.mktemp("engine")
    made = toys.venv(folder / "venv", toys.wheel(folder))
    subprocess.run([made / "bin/python", "-m", "compileall", "-q", toys.site(made)], check=True)
    return made


@pytest.fixture
def engine(original: Path, tmp_path: Path) -> Path:
    shutil.copytree(original, tmp_path / "venv", symlinks=True)
    return tmp_path / "venv"
