"""A folder with the rehearsal of a version, made once for a test run."""

from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from rehearsals import files

from dsv4deploy.rehearsal.install import install

Folder = Callable[[str], Path]


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    @cache
    def made(version: str) -> Path:
        path = tmp_path_factory.mktemp("rehearsal") / version
        install(path, files(version))
        return path

    return made


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"
