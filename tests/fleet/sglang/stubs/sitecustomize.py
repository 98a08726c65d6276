"""Lets SGLang import where there is no triton and no torchvision: whatever is asked of them is there, and does nothing.

`STAND_INS` names more of such packages, with commas: 0.5.13 asks for sgl_kernel on a CPU too.
"""

import abc
import importlib.abc
import importlib.machinery
import os
import sys
import types
from typing import Any

ABSENT = {"triton": "3.6.0", "torchvision": "0.0.0"}
ABSENT |= dict.fromkeys(filter(None, os.environ.get("STAND_INS", "").split(",")), "99.0.0")


class _Inert(abc.ABCMeta):
    """Classes whose unknown attributes are their own dotted names."""

    def __getattr__(cls, name: str) -> str:
        if name.startswith(("__", "_abc")):
            raise AttributeError(name)
        return f"{cls.__name__}.{name}"


class _Thing(metaclass=_Inert):
    """The base of every class that is asked for."""

    def __init__(self, *_: object, **__: object) -> None:
        pass

    def __class_getitem__(cls, _: object) -> type:
        return cls


class _Module(types.ModuleType):
    """A module that has every submodule, class and decorator."""

    __path__: list[str] = []  # noqa: RUF012 (this is how a module says that it is a package)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        full = f"{self.__name__}.{name}"
        made = (
            type(name, (_Thing,), {"__module__": self.__name__})
            if name[:1].isupper()
            else importlib.import_module(full)
        )
        setattr(self, name, made)
        return made

    def __call__(self, *given: Any, **options: Any) -> Any:
        """As a decorator, with or without options: the function itself."""
        return given[0] if len(given) == 1 and callable(given[0]) and not options else lambda function: function

    def __mro_entries__(self, _: object) -> tuple[type, ...]:
        return (_Thing,)

    def __or__(self, _: object) -> Any:
        return self

    __ror__ = __or__

    def __getitem__(self, _: object) -> Any:
        return self


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, *_: object) -> importlib.machinery.ModuleSpec | None:
        if name.partition(".")[0] in ABSENT:
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        if module.__name__ in ABSENT:
            module.__dict__["__version__"] = ABSENT[module.__name__]
        if module.__name__ == "triton":
            module.__dict__["cdiv"] = lambda a, b: -(-a // b)
            module.__dict__["next_power_of_2"] = lambda n: 1 << (n - 1).bit_length()


# At the end, so that a package that is there wins.
sys.meta_path.append(_Finder())
