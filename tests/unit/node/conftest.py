"""The shipped signatures and the recorded logs with their answer key."""

from pathlib import Path
from typing import Any

import pytest
import yaml

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
