"""Reads the flags of one SGLang version from its texts, by syntax alone, in all three forms they have had.

Up to 0.5.13 every flag is an `add_argument` call in `ServerArgs.add_cli_args`; from 0.5.14 on most are annotated fields
of the class; from 0.5.20 on these fields stand in the modules of `arg_groups/fields`. A few calls remained throughout.
"""

import ast
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from dsv4deploy.model.flag import ABSENT, Action, Flag, Nargs, Type
from dsv4deploy.source.named import Member, Module, Outside, Symbol, UnresolvedError, Value
from dsv4deploy.source.static import Evaluator, Package

SERVER_ARGS = "sglang.srt.server_args"
FIELDS = "sglang/srt/arg_groups/fields/"
GRAPH_CONFIG = "sglang.srt.model_executor.cuda_graph_config"

# SGLang's conversions, by the name of the function.
TYPES: Mapping[str, Type] = {
    "str": "str",
    "int": "int",
    "float": "float",
    "json.loads": "json",
    "json_list_type": "json-list",
    "human_readable_int": "human-int",
    "nullable_str": "nullable-str",
    "parse_cuda_graph_config_arg": "graph-config",
    "parse_cuda_graph_backend_arg": "graph-backend",
}
# How an action of argparse or of SGLang acts, how many words it takes by itself, and whether it says "deprecated".
ACTIONS: Mapping[str, tuple[Action, Nargs, bool]] = {
    "store": ("store", None, False),
    "store_true": ("store-true", 0, False),
    "store_false": ("store-false", 0, False),
    "BooleanOptionalAction": ("boolean-optional", 0, False),
    "LoRAPathAction": ("lora-paths", None, False),
    "DeprecatedAction": ("ignore", 0, True),
    "DeprecatedStoreTrueAction": ("store-true", 0, True),
    "DeprecatedStoreConstAction": ("store-const", 0, True),
    "DeprecatedAliasStoreAction": ("store", None, True),
}


@dataclass(frozen=True, slots=True)
class Extracted:
    """The flags found, in the order of the texts, and what could not be told of any of them."""

    flags: tuple[Flag, ...]
    problems: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of `ServerArgs`: its annotation and its default as they are written."""

    name: str
    module: Module
    annotation: ast.expr
    default: ast.expr | None


def extract_flags(texts: Mapping[str, str]) -> Extracted:
    """Read every flag of `python -m sglang.launch_server`.

    Args:
        texts: path below site-packages (`sglang/srt/server_args.py`) to text.

    Raises:
        UnresolvedError: these are not the texts of an SGLang server.
    """
    package = Package(texts, "sglang")
    module = package.module(SERVER_ARGS)
    node = module and module.definitions.get("ServerArgs")
    if module is None or not isinstance(node, ast.ClassDef):
        raise UnresolvedError("sglang/srt/server_args.py has no class ServerArgs")
    reader = _Reader(package, module, node)
    reader.read()
    return Extracted(tuple(reader.flags), tuple(reader.problems))


@dataclass(slots=True)
class _Reader:
    package: Package
    module: Module
    node: ast.ClassDef
    flags: list[Flag] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    fields: dict[str, Field] = field(default_factory=dict)
    dests: dict[str, str] = field(default_factory=dict)

    def read(self) -> None:
        self.fields = {each.name: each for each in self._all_fields()}
        self.dests = self._renamed_dests()
        evaluator = Evaluator(self.package, self.module, {"_declared_default": self._default_of})
        for statement in evaluator.run(self._method("add_cli_args").body):
            self._statement(statement, evaluator)

    def _method(self, name: str) -> ast.FunctionDef:
        for statement in self.node.body:
            if isinstance(statement, ast.FunctionDef) and statement.name == name:
                return statement
        raise UnresolvedError(f"ServerArgs has no method {name}")

    def _renamed_dests(self) -> dict[str, str]:
        """`args.tp_size = args.tensor_parallel_size`: what the parser calls a field that SGLang calls otherwise."""
        renamed = {}
        for statement in self._method("from_cli_args").body:
            match statement:
                case ast.Assign(
                    targets=[ast.Attribute(value=ast.Name(id="args"), attr=ours)],
                    value=ast.Attribute(value=ast.Name(id="args"), attr=theirs),
                ):
                    renamed[theirs] = ours
                case _:
                    pass
        return renamed

    def _all_fields(self) -> Iterator[Field]:
        yield from self._fields_of(self.module, self.node)
        for path in sorted(self.package.texts):
            if path.startswith(FIELDS) and path.endswith(".py") and "/" not in path.removeprefix(FIELDS):
                module = self.package.module(path.removesuffix(".py").removesuffix("/__init__").replace("/", "."))
                for node in module.body if module else ():
                    if module and isinstance(node, ast.ClassDef):
                        yield from self._fields_of(module, node)

    def _fields_of(self, module: Module, node: ast.ClassDef) -> Iterator[Field]:
        for statement in node.body:
            match statement:
                case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation, value=default):
                    yield Field(name, module, annotation, default)
                case _:
                    pass

    @staticmethod
    def _declared(node: ast.expr, evaluator: Evaluator) -> Value:
        match node:
            case ast.Call(func=ast.Name(id="field") | ast.Attribute(attr="field"), keywords=words):
                given = {word.arg: word.value for word in words}
                return evaluator.value(given["default"]) if "default" in given else _made(given, evaluator)
            case _:
                return evaluator.value(node)

    def _default_of(self, name: str) -> Value:
        found = self.fields.get(name)
        if found is None or found.default is None:
            raise UnresolvedError(f"ServerArgs.{name}: no such field, or one without a default")
        return self._declared(found.default, Evaluator(self.package, found.module))

    def _statement(self, statement: ast.stmt, evaluator: Evaluator) -> None:
        match statement:
            case ast.Expr(value=ast.Call(func=ast.Attribute(attr="add_argument")) as call):
                self._guarded(ast.unparse(call.args[0]), partial(self._from_call, call, evaluator))
            case ast.Expr(value=ast.Call(func=ast.Name(id="add_cli_args_from_dataclass"))):
                for each in self.fields.values():
                    self._guarded(each.name, partial(self._from_field, each))
            case ast.Expr(value=ast.Constant()):
                pass
            case _ if "add_" in ast.unparse(statement):
                self.problems.append(f"not understood: {ast.unparse(statement)[:120]}")
            case _:
                pass

    def _guarded(self, name: str, read: Callable[[], list[Flag]]) -> None:
        try:
            self.flags += read()
        except (UnresolvedError, KeyError, ValueError, TypeError) as problem:
            self.problems.append(f"{name}: {type(problem).__name__}: {problem}")

    def _from_call(self, call: ast.Call, evaluator: Evaluator) -> list[Flag]:
        names = [evaluator.value(word) for word in call.args]
        words = {
            str(word.arg): self._word(word.value, evaluator)
            for word in call.keywords
            if word.arg not in {"help", "metavar"}
        }
        first = next(name for name in names if name.startswith("--"))
        dest = words.pop("dest", None) or first.removeprefix("--").replace("-", "_")
        return [self._flag(names, self.dests.get(dest, dest), words)]

    def _word(self, node: ast.expr, evaluator: Evaluator) -> Value:
        match node:
            case ast.Attribute(value=ast.Name(id="ServerArgs"), attr=name):
                return self._default_of(name)
            case _:
                return evaluator.value(node)

    def _from_field(self, each: Field) -> list[Flag]:
        match each.annotation:
            case ast.Subscript(value=ast.Name(id="A" | "Annotated"), slice=ast.Tuple(elts=[kind, *extra])):
                metadata = next((one for one in extra if not _is_call(one, "NS")), None)
            case _:
                return []
        if metadata is None:
            return []
        evaluator = Evaluator(self.package, each.module)
        given = metadata.keywords if isinstance(metadata, ast.Call) else []
        words = {str(word.arg): evaluator.value(word.value) for word in given if word.arg != "help"}
        if words.pop("no_cli", False):
            return []
        names = [words.pop("cli_name", None) or "--" + each.name.replace("_", "-"), *(words.pop("aliases", None) or [])]
        if each.default is not None:
            words["default"] = self._default_of(each.name)
        return [self._flag(names, each.name, _derived(kind, words))]

    def _flag(self, names: list[str], dest: str, words: dict[str, Value]) -> Flag:
        own = "--" + dest.replace("_", "-")
        name = own if own in names else names[0]
        action, nargs, deprecated = ACTIONS[_named(words.get("action", "store"))]
        nargs = words.get("nargs", nargs)
        kind: Type = "bool" if action in {"store-true", "store-false", "boolean-optional"} else "str"
        if "type" in words:
            kind = TYPES[_named(words["type"])]
        refusal = words.get("error_message")
        return Flag(
            name=name,
            dest=dest,
            aliases=tuple(each for each in names if each != name),
            type=kind,
            choices=_choices(words.get("choices")),
            default=_default(words, action),
            nargs=nargs,
            action="refuse" if refusal is not None else action,
            const=_plain(words.get("const_value", words.get("const"))),
            required=bool(words.get("required", False)),
            deprecated=deprecated,
            successor=refusal or words.get("new_flag"),
            **self._graph(kind),
        )

    def _graph(self, kind: Type) -> dict[str, Any]:
        """The keys of `--cuda-graph-config`, and the backend that its conversion refuses where it was removed."""
        if kind not in {"graph-config", "graph-backend"}:
            return {}
        module = self.package.module(GRAPH_CONFIG)
        if module is None:
            raise UnresolvedError(f"{GRAPH_CONFIG}: not found")
        check = module.definitions.get("parse_cuda_graph_backend_arg")
        refused = tuple(
            each.comparators[0].value
            for each in (ast.walk(check) if check else ())
            if isinstance(each, ast.Compare) and isinstance(each.comparators[0], ast.Constant)
        )
        if kind == "graph-backend":
            return {"refuses": refused}
        keys = _plain(self.package.value(module, "ALLOWED_KEYS_PER_PHASE"))
        return {"refuses": refused, "keys": {phase: tuple(sorted(allowed)) for phase, allowed in keys.items()}}


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _made(given: Mapping[str | None, ast.expr], evaluator: Evaluator) -> Value:
    match given.get("default_factory"):
        case ast.Name(id="list" | "tuple"):
            return []
        case ast.Name(id="dict"):
            return {}
        case ast.Lambda(body=body):
            return evaluator.value(body)
        case factory:
            raise UnresolvedError(f"default_factory={ast.unparse(factory) if factory else None}")


def _derived(kind: ast.expr, words: dict[str, Value]) -> dict[str, Value]:
    """The words of `add_argument` that SGLang derives from the type of a field."""
    parser = words.pop("type_parser", None)
    if words.get("action") is not None:
        return {**words, **words.pop("action_kwargs", {})}
    inner = _without_none(kind)
    head = ast.unparse(inner.value).split(".")[-1] if isinstance(inner, ast.Subscript) else ast.unparse(inner)
    if head == "Literal" and isinstance(inner, ast.Subscript):
        values = ast.literal_eval(inner.slice)
        literal = list(values) if isinstance(values, tuple) else [values]
        # SGLang converts by the type of the first value only; None there means text.
        derived = {"choices": words.get("choices") or literal, "type": parser or _scalar(type(literal[0]).__name__)}
        return {**_kept(words, "default", "const"), **derived}
    if head in {"List", "list"} and parser is None and isinstance(inner, ast.Subscript):
        derived = {"type": _scalar(ast.unparse(inner.slice)), "nargs": words.get("nargs") or "+"}
        return {**_kept(words, "default", "const", "choices"), **derived}
    if head == "bool":
        return {**_kept(words, "default"), "action": "store_true"}
    required = words.get("required") is True or (words.get("required") is None and "default" not in words)
    kept = _kept(words, "default", "const", "choices", "nargs")
    return {**kept, "type": parser or _scalar(head), "required": required}


def _kept(words: Mapping[str, Value], *names: str) -> dict[str, Value]:
    return {name: words[name] for name in names if name in words}


def _without_none(kind: ast.expr) -> ast.expr:
    """`T` for `Optional[T]`, `Union[T, None]` and `T | None`; anything else as it is."""
    match kind:
        case ast.Subscript(value=ast.Name(id="Optional") | ast.Attribute(attr="Optional"), slice=inner):
            return inner
        case ast.Subscript(value=ast.Name(id="Union") | ast.Attribute(attr="Union"), slice=ast.Tuple(elts=elements)):
            members = elements
        case ast.BinOp(op=ast.BitOr()):
            members = _alternatives(kind)
        case _:
            return kind
    real = [each for each in members if ast.unparse(each) not in {"None", "type(None)"}]
    return real[0] if len(real) == 1 else kind


def _alternatives(kind: ast.expr) -> list[ast.expr]:
    if isinstance(kind, ast.BinOp) and isinstance(kind.op, ast.BitOr):
        return [*_alternatives(kind.left), *_alternatives(kind.right)]
    return [kind]


def _scalar(name: str) -> Outside:
    return Outside(name if name in {"str", "int", "float"} else "str")


def _named(value: Value) -> str:
    match value:
        case str(name):
            return name
        case Outside(name="json.loads"):
            return "json.loads"
        case Outside(name=name):
            return name.rsplit(".", 1)[-1]
        case Symbol():
            return value.name
        case _:
            raise UnresolvedError(f"{value!r} has no name")


def _choices(value: Value) -> tuple[Any, ...] | None:
    return None if value is None else tuple(_plain(value))


def _default(words: Mapping[str, Value], action: Action) -> Value:
    if "default" in words:
        value = words["default"]
        return ABSENT if value == Outside("argparse.SUPPRESS") else _plain(value)
    # What the actions fall back to by themselves.
    return {"store-true": False, "store-false": True}.get(action)


def _plain(value: Value) -> Value:
    """`value` as JSON has it; lists as tuples.

    Raises:
        UnresolvedError: it is no plain value.
    """
    match value:
        case Member(value=inner):
            return _plain(inner)
        case list() | tuple():
            return tuple(_plain(each) for each in value)
        case dict():
            return {str(_plain(key)): _plain(each) for key, each in value.items()}
        case None | bool() | int() | float() | str():
            return value
        case _:
            raise UnresolvedError(f"{value!r} is no plain value")
