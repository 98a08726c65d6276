"""Evaluates the constant expressions of a Python package from its texts; nothing of it is imported or run."""

import ast
from collections.abc import Iterable, Iterator, Mapping
from pathlib import PurePosixPath

from dsv4deploy.source.named import Member, Module, Outside, Symbol, UnresolvedError, Value

# Bits that a number in the texts may have.
WIDEST = 64


class Package:
    """All modules of one package, parsed when first asked for.

    Args:
        texts: path below site-packages (`sglang/srt/server_args.py`) to text.
        name: the package; modules of others are `Outside`.
    """

    def __init__(self, texts: Mapping[str, str], name: str) -> None:
        self.texts = texts
        self.name = name
        self._modules: dict[str, Module | None] = {}
        self._values: dict[tuple[str, str], Value] = {}

    def module(self, dotted: str) -> Module | None:
        """The module `sglang.srt.environ`, or None if there is no such file."""
        if dotted not in self._modules:
            base = PurePosixPath(*dotted.split("."))
            text = self.texts.get(f"{base}.py", self.texts.get(f"{base}/__init__.py"))
            self._modules[dotted] = None if text is None else Module(dotted, ast.parse(text).body)
        return self._modules[dotted]

    def value(self, module: Module, name: str) -> Value:
        """What the top-level `name` of `module` is.

        Raises:
            UnresolvedError: the texts do not tell.
        """
        key = (module.name, name)
        if key not in self._values:
            # Whoever asks for the name while it is being found goes round in a circle.
            self._values[key] = UnresolvedError(f"{name}: defined by itself in {module.name}")
            self._values[key] = self._find(module, name)
        value = self._values[key]
        if isinstance(value, UnresolvedError):
            raise value
        return value

    def _find(self, module: Module, name: str) -> Value:
        node = module.definitions.get(name)
        if isinstance(node, ast.ClassDef | ast.FunctionDef):
            return Symbol(module, node)
        if node is not None:
            return self._grown(module, name, Evaluator(self, module).value(node))
        if name in module.imports:
            return self.imported(*module.imports[name])
        if name in {"str", "int", "float", "bool", "list", "dict", "set", "tuple"}:
            return Outside(name)
        raise UnresolvedError(f"{name}: not defined in {module.name}")

    def _grown(self, module: Module, name: str, value: Value) -> Value:
        if not isinstance(value, list):
            return value
        grown = list(value)
        for call in module.growth.get(name, []):
            more = Evaluator(self, module).value(call.args[0])
            grown += more if isinstance(call.func, ast.Attribute) and call.func.attr == "extend" else [more]
        return grown

    def imported(self, dotted: str, name: str | None) -> Value:
        """What `from dotted import name` binds (`import dotted` where `name` is None)."""
        if dotted.partition(".")[0] != self.name or name is None:
            return Outside(f"{dotted}.{name}" if name else dotted)
        module = self.module(dotted)
        if module is not None and (name in module.definitions or name in module.imports):
            return self.value(module, name)
        below = self.module(f"{dotted}.{name}")
        if below is None:
            raise UnresolvedError(f"{name}: not found in {dotted}")
        return below


def _numbers(left: Value, right: Value) -> bool:
    """Whether these are numbers of a size that a default has, so that nothing grows without bound."""
    return all(isinstance(each, int | float) and abs(each) <= 2**WIDEST for each in (left, right))


class Evaluator:
    """The value of expressions inside one module, with the local names of a function on top."""

    def __init__(self, package: Package, module: Module, names: Mapping[str, Value] | None = None) -> None:
        self.package = package
        self.module = module
        self.names = dict(names or {})

    def value(self, node: ast.expr) -> Value:
        """The value of `node`.

        Raises:
            UnresolvedError: the texts do not tell.
        """
        found = getattr(self, f"_{type(node).__name__.lower()}", None)
        if found is None:
            raise UnresolvedError(f"{ast.unparse(node)}: {type(node).__name__} is not evaluated")
        try:
            return found(node)
        except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as problem:
            raise UnresolvedError(f"{ast.unparse(node)}: {problem}") from problem

    def _constant(self, node: ast.Constant) -> Value:
        return node.value

    def _name(self, node: ast.Name) -> Value:
        if node.id not in self.names:
            return self.package.value(self.module, node.id)
        value = self.names[node.id]
        if isinstance(value, UnresolvedError):
            raise value
        return value

    def _list(self, node: ast.List | ast.Tuple | ast.Set) -> list[Value]:
        items: list[Value] = []
        for each in node.elts:
            items += self.items(each.value) if isinstance(each, ast.Starred) else [self.value(each)]
        return items

    def _tuple(self, node: ast.Tuple) -> tuple[Value, ...]:
        return tuple(self._list(node))

    def _set(self, node: ast.Set) -> list[Value]:
        return sorted(self._list(node), key=str)

    def _dict(self, node: ast.Dict) -> dict[Value, Value]:
        pairs: dict[Value, Value] = {}
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                pairs |= self.value(value)
            else:
                pairs[self.value(key)] = self._tolerant(value)
        return pairs

    def _tolerant(self, node: ast.expr) -> Value:
        # A table of parsers maps names to classes that import half the world; only the names are wanted.
        try:
            return self.value(node)
        except UnresolvedError:
            return Outside(ast.unparse(node))

    def _joinedstr(self, node: ast.JoinedStr) -> str:
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)

    def _unaryop(self, node: ast.UnaryOp) -> Value:
        value = self.value(node.operand)
        match node.op:
            case ast.USub():
                return -value
            case ast.Not():
                return not value
            case _:
                raise UnresolvedError(ast.unparse(node))

    def _binop(self, node: ast.BinOp) -> Value:
        left, right = self.value(node.left), self.value(node.right)
        match node.op:
            case ast.Add() if isinstance(left, list | tuple):
                return [*left, *right]
            case ast.Add():
                return left + right
            case ast.Mult() if _numbers(left, right):
                return left * right
            case ast.LShift() if _numbers(left, right) and right <= WIDEST:
                return left << right
            case ast.Pow() if _numbers(left, right) and right <= WIDEST:
                return left**right
            case _:
                raise UnresolvedError(ast.unparse(node))

    def _compare(self, node: ast.Compare) -> bool:
        left, right = self.value(node.left), self.value(node.comparators[0])
        match node.ops:
            case [ast.Is() | ast.Eq()]:
                return bool(left == right)
            case [ast.IsNot() | ast.NotEq()]:
                return bool(left != right)
            case _:
                raise UnresolvedError(ast.unparse(node))

    def _ifexp(self, node: ast.IfExp) -> Value:
        return self.value(node.body if self.value(node.test) else node.orelse)

    def _lambda(self, node: ast.Lambda) -> Value:
        return Outside(ast.unparse(node))

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if not isinstance(owner, list | tuple | dict):
            raise UnresolvedError(ast.unparse(node))
        return owner[self.value(node.slice)]

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        match owner:
            case Outside(name=name):
                return Outside(f"{name}.{node.attr}")
            case Module():
                return self.package.value(owner, node.attr)
            case Member():
                return getattr(owner, node.attr)
            case Symbol() if owner.is_enum:
                members = {member.name: member for member in self.members(owner)}
                if node.attr in members:
                    return members[node.attr]
            case Symbol():
                values = self.attributes(owner)
                return values.get(node.attr, Outside(ast.unparse(node)))
            case _:
                pass
        raise UnresolvedError(ast.unparse(node))

    def attributes(self, symbol: Symbol) -> dict[str, Value]:
        """The class attributes of `symbol` that have a known value, in the order of the text."""
        inner = Evaluator(self.package, symbol.module)
        for statement in symbol.node.body:
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)], value=value)
                    | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
                ):
                    inner.names[name] = inner._tolerant(value)
                case _:
                    pass
        return inner.names

    def members(self, symbol: Symbol) -> list[Member]:
        """The members of an enumeration; `auto()` counts from 1."""
        pairs = [(name, value) for name, value in self.attributes(symbol).items() if not name.startswith("_")]
        return [
            Member(name, place if isinstance(value, Outside) and value.name.endswith("auto()") else value)
            for place, (name, value) in enumerate(pairs, 1)
        ]

    def items(self, node: ast.expr) -> list[Value]:
        """What iterating over `node` gives: members of an enumeration, keys of a dictionary, items of a list."""
        owner = self.value(node)
        if isinstance(owner, Symbol) and owner.is_enum:
            return list(self.members(owner))
        if isinstance(owner, list | tuple | dict | range):
            return list(owner)
        raise UnresolvedError(f"{ast.unparse(node)}: nothing to iterate over")

    def _listcomp(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> list[Value]:
        [loop] = node.generators
        if not isinstance(loop.target, ast.Name):
            raise UnresolvedError(ast.unparse(node))
        values = []
        for item in self.items(loop.iter):
            inner = Evaluator(self.package, self.module, {**self.names, loop.target.id: item})
            if all(inner.value(test) for test in loop.ifs):
                values.append(inner.value(node.elt))
        return values

    _generatorexp = _setcomp = _listcomp

    def _call(self, node: ast.Call) -> Value:
        match node.func:
            case ast.Name(id="list" | "tuple"):
                return self.items(node.args[0]) if node.args else []
            case ast.Name(id="set" | "frozenset" | "sorted"):
                return sorted(self.items(node.args[0]), key=str) if node.args else []
            case ast.Name(id="dict") if not node.args:
                return {word.arg: self.value(word.value) for word in node.keywords}
            case ast.Attribute(attr="keys" | "copy", value=owner):
                return self.items(owner)
            case ast.Attribute(attr="lower" | "upper" as method, value=owner):
                return getattr(self.value(owner), method)()
            case ast.Name():
                return self._called(node, self.value(node.func))
            case _:
                raise UnresolvedError(ast.unparse(node))

    def _called(self, node: ast.Call, function: Value) -> Value:
        if callable(function):
            return function(*(self.value(word) for word in node.args))
        if not isinstance(function, Symbol) or not isinstance(function.node, ast.FunctionDef):
            raise UnresolvedError(ast.unparse(node))
        names = [each.arg for each in function.node.args.args]
        inner = Evaluator(self.package, function.module, dict(zip(names, map(self.value, node.args), strict=False)))
        for statement in inner.run(function.node.body):
            if isinstance(statement, ast.Return) and statement.value is not None:
                return inner.value(statement.value)
        raise UnresolvedError(f"{ast.unparse(node)}: returns nothing that the texts give")

    def run(self, body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
        """Follow `body`: bind imports and assignments, take the branch of an `if`, hand out everything else.

        A branch whose test the texts do not decide is not taken: such tests ask for optional things of a running engine.
        """
        for statement in body:
            match statement:
                case ast.ImportFrom(module=str(module), names=names):
                    for alias in names:
                        self.names[alias.asname or alias.name] = self.package.imported(module, alias.name)
                case ast.Assign(targets=[ast.Name(id=name)], value=value):
                    self._bind(name, value)
                case ast.If(test=test, body=inner, orelse=other):
                    yield from self.run(inner if self._decided(test) else other)
                case _:
                    yield statement

    def _bind(self, name: str, node: ast.expr) -> None:
        try:
            self.names[name] = self.value(node)
        except UnresolvedError as problem:
            self.names[name] = problem

    def _decided(self, test: ast.expr) -> bool:
        try:
            return bool(self.value(test))
        except UnresolvedError:
            return False
