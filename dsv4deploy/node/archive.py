"""Begins the tool from its archive: each module is compiled once, where `zipimport` would do it twice at each trip."""

from __future__ import annotations

import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any
from zipimport import zipimporter


class Archive(MetaPathFinder, Loader):
    """Finds and loads the modules of the tool; those of Python are left to the others."""

    def __init__(self, path: str) -> None:
        self._path = path
        self._zip = zipimporter(path)

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:  # noqa: ANN401 (Python's protocol)
        if name.partition(".")[0] != "dsv4deploy":
            return None
        for tail in (".py", "/__init__.py"):
            inside = name.replace(".", "/") + tail
            try:
                source = self._zip.get_data(inside)
            except OSError:
                continue
            where = f"{self._path}/{inside}"
            spec = ModuleSpec(name, self, origin=where, loader_state=source, is_package=tail != ".py")
            spec.has_location = True
            return spec
        return None

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            exec(compile(spec.loader_state, str(spec.origin), "exec", dont_inherit=True), module.__dict__)  # noqa: S102 (it is our own archive)

    def get_data(self, path: str) -> bytes:
        """What else is in the archive, for `pkgutil`."""
        return self._zip.get_data(path)


if __name__ == "__main__":
    sys.meta_path.insert(0, Archive(sys.path[0]))
    from dsv4deploy.node.main import main

    sys.exit(main())
