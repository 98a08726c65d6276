"""Loads the engine of a version as a package of its own, as its folder would."""

import importlib.util
import json
import sys
from collections.abc import Callable
from functools import cache
from types import ModuleType

import pytest
from rehearsals import files, sources

Module = Callable[[str, str], ModuleType]


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Module:
    """`module(version, name)`: one module of the engine of `version`."""

    @cache
    def package(version: str) -> str:
        folder = tmp_path_factory.mktemp("engine")
        for name, text in sources().items():
            (folder / name).write_text(text, encoding="utf-8")
        made = json.loads(files(version)["sglang/record.json"])
        (folder / "record.json").write_text(json.dumps(made), encoding="utf-8")
        name = f"rehearsal_of_{version.replace('.', '_')}"
        spec = importlib.util.spec_from_file_location(
            name, folder / "__init__.py", submodule_search_locations=[str(folder)]
        )
        assert spec is not None
        assert spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
        return name

    return lambda version, name: importlib.import_module(f"{package(version)}.{name}")
