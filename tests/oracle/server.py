"""Runs the real argument parser of one SGLang wheel without its dependencies; one JSON line in, one out.

Usage: server.py WHEEL, or server.py installed for the SGLang of the running Python, whole. With a wheel, libraries that decide what the parser does are real; every other one is a stand-in that accepts
whatever is done to it. A module of SGLang that cannot be imported even so becomes a stand-in too, which would show as a
difference in the flags.
"""

import argparse
import contextlib
import importlib
import importlib.abc
import importlib.machinery
import io
import json
import logging
import sys
import types
import warnings
import zipimport
from collections.abc import Iterator, Mapping
from typing import Any, Literal

Spec = importlib.machinery.ModuleSpec | None
REAL = {"sglang", "msgspec", "orjson", "packaging", "yaml", "typing_extensions", *sys.stdlib_module_names}


class Anything(type):
    """A class that is also a value, a decorator, a base and a module's content, and is false and empty."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        return made(name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        if not cls.__dict__.get("stand_in"):
            return super().__call__(*args, **kwargs)
        # Used as a decorator, it leaves what it decorates as it is.
        decorated = args[0] if len(args) == 1 and not kwargs else None
        plain = isinstance(decorated, types.FunctionType) or (
            isinstance(decorated, type) and not is_stand_in(decorated)
        )
        return decorated if plain else cls

    def __iter__(cls) -> Iterator[Any]:
        return iter(())

    def __bool__(cls) -> bool:
        return False

    def __len__(cls) -> int:
        return 0

    def __contains__(cls, item: object) -> bool:
        return False

    def __getitem__(cls, item: object) -> Any:
        return cls

    def __enter__(cls) -> Any:
        return cls

    def __exit__(cls, *_: object) -> Literal[False]:
        return False

    def __int__(cls) -> int:
        return 0

    __index__ = __int__

    def __float__(cls) -> float:
        return 0.0


def itself(left: Any, *_: object) -> Any:
    return left


def never(*_: object) -> bool:
    return False


for operator in [
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "lshift",
    "rshift",
    "and",
    "or",
    "xor",
    "matmul",
]:
    setattr(Anything, f"__{operator}__", itself)
    setattr(Anything, f"__r{operator}__", itself)
for operator in ["neg", "pos", "abs", "invert"]:
    setattr(Anything, f"__{operator}__", itself)
for operator in ["lt", "le", "gt", "ge"]:
    setattr(Anything, f"__{operator}__", never)


def is_stand_in(value: object) -> bool:
    return isinstance(value, Anything) and bool(value.__dict__.get("stand_in"))


def made(name: str) -> Any:
    return Anything(name, (), {"stand_in": True, "__init_subclass__": classmethod(subclassed)})


def subclassed(cls: Any, /, **_: object) -> None:
    cls.stand_in = False


class StandIn(types.ModuleType):
    __path__ = []  # noqa: RUF012 (what an import looks at)
    __version__ = "99.0.0"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError(name)
        below = f"{self.__name__}.{name}"
        known = self.__name__.startswith("sglang") and FINDER[0].loader(below)
        value = importlib.import_module(below) if known else made(name)
        setattr(self, name, value)
        return value


class Tolerant(importlib.abc.Loader):
    """Runs a module of SGLang; where that fails, fills in for it."""

    def __init__(self, loader: zipimport.zipimporter) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        try:
            exec(self.loader.get_code(module.__name__), module.__dict__)  # noqa: S102 (as every loader does)
        except Exception as problem:  # noqa: BLE001 (whatever a module of another project does)
            FAILED[module.__name__] = f"{type(problem).__name__}: {problem}"


class Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def __init__(self, wheel: str) -> None:
        self.wheel = wheel

    def find_spec(self, name: str, *_: object) -> Spec:
        top = name.partition(".")[0]
        if top == "sglang":
            return self.sglang(name)
        return None if top in REAL else importlib.machinery.ModuleSpec(name, self, is_package=True)

    def sglang(self, name: str) -> Spec:
        loader = self.loader(name)
        if loader is None or name.startswith("sglang.srt.models"):
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return importlib.machinery.ModuleSpec(name, Tolerant(loader), is_package=loader.is_package(name))

    def loader(self, name: str) -> zipimport.zipimporter | None:
        """The importer of a module that stands in the wheel as a file; None for a bare folder too."""
        loader = zipimport.zipimporter("/".join([self.wheel, *name.split(".")[:-1]]))
        spec = loader.find_spec(name)
        return loader if spec is not None and spec.loader is not None else None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        return StandIn(spec.name)

    def exec_module(self, module: types.ModuleType) -> None:
        pass


FINDER: "list[Finder]" = []
FAILED: dict[str, str] = {}


def plain(value: Any) -> Any:
    if value is argparse.SUPPRESS:
        return {"suppressed": True}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, set | frozenset):
        return sorted((plain(each) for each in value), key=str)
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return {"object": getattr(value, "__name__", type(value).__name__)}


def described(action: Any, renamed: Mapping[str, str]) -> dict[str, Any]:
    return {
        "names": action.option_strings,
        "dest": renamed.get(action.dest, action.dest),
        "type": getattr(action.type, "__name__", None),
        "choices": None if action.choices is None else plain(list(action.choices)),
        "default": plain(action.default),
        "nargs": action.nargs,
        "const": plain(action.const),
        "action": type(action).__name__,
        "required": action.required,
        "refusal": getattr(action, "error_message", None),
        "new_flag": getattr(action, "new_flag", None),
        "const_value": plain(getattr(action, "const_value", None)),
    }


def renamed_dests(server_args: Any, parser: argparse.ArgumentParser) -> dict[str, str]:
    """Which dest of the parser SGLang copies to a field of another name, found by letting it do so."""
    marks = {action.dest: object() for action in parser._actions}  # noqa: SLF001 (argparse has no public list)
    namespace = argparse.Namespace(**marks)
    with contextlib.suppress(Exception):
        server_args.from_cli_args.__func__(made("ServerArgs"), namespace)
    new = {id(value): name for name, value in vars(namespace).items() if name not in marks}
    return {dest: new[id(mark)] for dest, mark in marks.items() if id(mark) in new}


def answer(parser: argparse.ArgumentParser, renamed: Mapping[str, str], words: list[str]) -> dict[str, Any]:
    told = io.StringIO()
    try:
        with contextlib.redirect_stderr(told), contextlib.redirect_stdout(io.StringIO()):
            namespace = parser.parse_args(words)
    except SystemExit:
        return {"accepted": False, "message": told.getvalue().strip().splitlines()[-1:]}
    except Exception as problem:  # noqa: BLE001 (an action of SGLang may raise anything)
        return {"accepted": False, "message": [f"{type(problem).__name__}: {problem}"]}
    values = {renamed.get(name, name): plain(value) for name, value in vars(namespace).items()}
    return {"accepted": True, "values": values}


def main(wheel: str) -> None:
    if wheel != "installed":
        FINDER.append(Finder(wheel))
        sys.meta_path.insert(0, FINDER[0])
    warnings.simplefilter("ignore")
    logging.disable(logging.CRITICAL)
    output = sys.stdout
    with contextlib.redirect_stdout(sys.stderr):
        server_args = importlib.import_module("sglang.srt.server_args").ServerArgs

        parser = argparse.ArgumentParser(prog="sglang")
        server_args.add_cli_args(parser)
    renamed = renamed_dests(server_args, parser)
    actions = [described(action, renamed) for action in parser._actions if action.dest != "help"]  # noqa: SLF001 (argparse has no public list)
    version = getattr(sys.modules.get("sglang"), "__version__", None)
    print(json.dumps({"actions": actions, "failed": FAILED, "version": version}), file=output, flush=True)
    for line in sys.stdin:
        print(json.dumps(answer(parser, renamed, json.loads(line))), file=output, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
