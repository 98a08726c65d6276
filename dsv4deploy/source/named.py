"""What a Python package names, read from its texts: modules, classes, functions, members, and names from outside."""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

Value: TypeAlias = Any  # what a Python expression can be: the package decides, not we


class UnresolvedError(Exception):
    """An expression whose value the texts do not give; the message is the expression and the reason."""


@dataclass(frozen=True, slots=True)
class Outside:
    """Something named in the package that is no value here: a builtin type, an argparse action, a foreign function."""

    name: str


@dataclass(frozen=True, slots=True)
class Member:
    """One member of an enumeration."""

    name: str
    value: Value


@dataclass(frozen=True, slots=True)
class Symbol:
    """A class or function of the package."""

    module: "Module"
    node: ast.ClassDef | ast.FunctionDef

    @property
    def name(self) -> str:
        return self.node.name

    @property
    def is_enum(self) -> bool:
        return isinstance(self.node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in self.node.bases)


@dataclass(slots=True, eq=False)
class Module:
    """The top-level names of one file: definitions, imports, and later `.extend` and `.append` calls."""

    name: str
    body: list[ast.stmt]
    definitions: dict[str, ast.expr | ast.ClassDef | ast.FunctionDef] = field(default_factory=dict)
    imports: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    growth: dict[str, list[ast.Call]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for statement in flattened(self.body):
            self._note(statement)

    def _note(self, statement: ast.stmt) -> None:
        match statement:
            case ast.ImportFrom(module=str(module), names=names):
                self.imports |= {alias.asname or alias.name: (module, alias.name) for alias in names}
            case ast.Import(names=names):
                self.imports |= {alias.asname or alias.name.partition(".")[0]: (alias.name, None) for alias in names}
            case ast.ClassDef(name=name) | ast.FunctionDef(name=name):
                self.definitions.setdefault(name, statement)
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                # `ServerArgs = msgspec.defstruct(...)` rebinds a class; its text is still what is wanted.
                if not isinstance(self.definitions.get(name), ast.ClassDef):
                    self.definitions[name] = value
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                self.definitions[name] = value
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="extend" | "append")) as call
            ):
                self.growth.setdefault(name, []).append(call)
            case _:
                pass


def flattened(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of `body`, with those of `if` and `try` blocks in place of the blocks."""
    for statement in body:
        match statement:
            case ast.If(body=inner, orelse=other):
                yield from flattened([*inner, *other])
            case ast.Try(body=inner, handlers=handlers):
                yield from flattened([*inner, *(each for handler in handlers for each in handler.body)])
            case _:
                yield statement
