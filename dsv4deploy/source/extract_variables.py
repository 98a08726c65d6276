"""Reads the environment variables of one SGLang version: those of its registry, and those read in passing."""

import ast
import re
from collections.abc import Iterator, Mapping

from dsv4deploy.model.flag import EnvVar
from dsv4deploy.source.named import Member, Module, Outside, UnresolvedError, Value
from dsv4deploy.source.static import Evaluator, Package

REGISTRY = "sglang.srt.environ"
# Names that are set or read by tests, benchmarks and the image-generation server say nothing about a language model.
ELSEWHERE = re.compile(r"(^|/)(tests?|multimodal_gen|lang|benchmark)/|/bench_[^/]*$")
READ = re.compile(
    r"(?:environ(?:\.get|\.setdefault|\.pop)?|getenv|get_(bool|int|float)_env_var|is_env_set)\s*[(\[]\s*[\"']([A-Z][A-Z0-9_]+)[\"']"
)
# A name may travel through a constant on its way to `getenv`; a name in quotes is read by somebody.
QUOTED = re.compile(r"[\"'](SGLANG_[A-Z0-9_]+)[\"']")
TYPES: Mapping[str, str] = {
    "EnvBool": "bool",
    "EnvInt": "int",
    "EnvFloat": "float",
    "EnvStr": "str",
    "EnvTuple": "tuple",
    "EnvJSON": "json",
}


def extract_variables(texts: Mapping[str, str]) -> tuple[EnvVar, ...]:
    """Every environment variable that this version reads, by name; a default that is computed is None.

    Args:
        texts: path below site-packages (`sglang/srt/environ.py`) to text.

    Raises:
        UnresolvedError: these are not the texts of an SGLang server.
    """
    package = Package(texts, "sglang")
    module = package.module(REGISTRY)
    registry = module and module.definitions.get("Envs")
    if module is None or not isinstance(registry, ast.ClassDef):
        raise UnresolvedError("sglang/srt/environ.py has no class Envs")
    found = dict(_in_passing(texts))
    for variable in _registered(package, module, registry):
        found[variable.name] = variable
    for old in _retired(package, module):
        known = found.get(old.name, EnvVar(old.name, registered=False))
        found[old.name] = known._replace(deprecated=True, replaced_by=old.replaced_by, note=old.note)
    return tuple(found[name] for name in sorted(found))


def _in_passing(texts: Mapping[str, str]) -> Iterator[tuple[str, EnvVar]]:
    for path in sorted(texts):
        if path.endswith(".py") and not ELSEWHERE.search(path):
            quoted = ((name, "str") for name in QUOTED.findall(texts[path]))
            read = ((name, kind or "str") for kind, name in READ.findall(texts[path]))
            for name, kind in (*quoted, *read):
                yield name, EnvVar(name, type=kind, registered=False)


def _registered(package: Package, module: Module, registry: ast.ClassDef) -> Iterator[EnvVar]:
    evaluator = Evaluator(package, module)
    for statement in registry.body:
        match statement:
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=ast.Call() as call)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.Call() as call)
            ):
                yield from _one(name, call, evaluator)
            case _:
                pass


def _one(name: str, call: ast.Call, evaluator: Evaluator) -> Iterator[EnvVar]:
    kind = ast.unparse(call.func).removesuffix("WithAlias")
    words = {word.arg: word.value for word in call.keywords}
    default = call.args[0] if call.args else words.get("default")
    yield EnvVar(name, TYPES.get(kind, "str"), _default(default, evaluator))
    if "deprecated_name" in words:
        old = str(evaluator.value(words["deprecated_name"]))
        yield EnvVar(old, TYPES.get(kind, "str"), registered=True, deprecated=True, replaced_by=name)


def _default(node: ast.expr | None, evaluator: Evaluator) -> Value:
    try:
        value = None if node is None else evaluator.value(node)
    except (UnresolvedError, TypeError):
        return None
    if isinstance(value, Member):
        value = value.value
    if isinstance(value, list | tuple):
        return tuple(value) if all(isinstance(each, str) for each in value) else None
    return value if isinstance(value, bool | int | float | str) else None


def _retired(package: Package, module: Module) -> Iterator[EnvVar]:
    """Names that the registry only warns about; the form of that list changed three times."""
    evaluator = Evaluator(package, module)
    for node in (each for statement in module.body for each in ast.walk(statement)):
        match node:
            case ast.Call(func=ast.Name(id="_print_deprecated_env"), args=[ast.Constant(value=str(old)), *rest]):
                yield _old(old, evaluator, rest[0] if rest else None, None)
            case ast.Call(
                func=ast.Name(id="_warn_deprecated_env_to_cli_flag"), args=[ast.Constant(value=str(old)), note, *_]
            ):
                yield _old(old, evaluator, None, note)
            case (
                ast.Assign(targets=[ast.Name(id="_DEPRECATED_ENVS")], value=ast.Dict() as table)
                | ast.AnnAssign(target=ast.Name(id="_DEPRECATED_ENVS"), value=ast.Dict() as table)
            ):
                yield from _table(table, evaluator)
            case ast.Assign(targets=[ast.Name(id="_deprecated_ms_to_s")], value=ast.Dict() as table):
                for old, new in evaluator.value(table).items():
                    yield EnvVar(old, deprecated=True, replaced_by=new, note="The new variable is in seconds.")
            case _:
                pass


def _table(table: ast.Dict, evaluator: Evaluator) -> Iterator[EnvVar]:
    for key, call in zip(table.keys, table.values, strict=True):
        if isinstance(key, ast.Constant) and isinstance(call, ast.Call):
            words = {word.arg: word.value for word in call.keywords}
            new = call.args[0] if call.args else words.get("replacement")
            yield _old(str(key.value), evaluator, new, words.get("note"))


def _old(name: str, evaluator: Evaluator, new: ast.expr | None, note: ast.expr | None) -> EnvVar:
    said = None if note is None else evaluator.value(note)
    replacement = None if new is None else evaluator.value(new)
    return EnvVar(
        name,
        deprecated=True,
        replaced_by=None if isinstance(replacement, Outside) else replacement,
        note=said if isinstance(said, str) else "",
    )
