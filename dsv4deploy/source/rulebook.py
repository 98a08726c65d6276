"""Reads a folder of rules: one YAML file each, a Python file beside it where data cannot say it."""

import hashlib
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml
from pydantic import ValidationError

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused
from dsv4deploy.model.place import Place
from dsv4deploy.model.rule import Ask, Found, Rule, Verdict
from dsv4deploy.model.trouble import Trouble

OWN: Final = "own"  # the family of rules that stand in no folder of a family
LIKE_OURS: Final = "write it as the rules that ship with the program do: dsv4deploy/rules/FAMILY/ID.yaml"
COMPILED: Final = "compiled.json"
# Not through `importlib.resources`, which is slow to load; a rule in Python needs a plain file anyway.
SHIPPED: Final = Path(__file__).parents[1] / "rules"


class _Loader(yaml.CSafeLoader):
    """Only `true` and `false` are booleans, dates stay text, and a key stands once."""

    yaml_implicit_resolvers = {  # noqa: RUF012 (PyYAML looks it up on the class)
        first: [(tag, pattern) for tag, pattern in found if tag.rpartition(":")[2] not in {"bool", "timestamp"}]
        for first, found in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        keys = [key.value for key, _ in node.value]
        if len(keys) != len(set(keys)):
            raise yaml.constructor.ConstructorError(None, None, "a key stands twice", node.start_mark)
        found: dict[Any, Any] = super().construct_mapping(node, deep)
        return found


_Loader.add_implicit_resolver("tag:yaml.org,2002:bool", re.compile(r"^(?:true|false)$"), list("tf"))


def catalogue() -> tuple[Rule, ...]:
    """The rules that ship with the program, by family and name, without their examples: `rulebook(SHIPPED)` has those."""
    try:
        known = json.loads((SHIPPED / COMPILED).read_bytes())
    except (OSError, ValueError):
        known = {}  # nothing but time is lost without it
    return rulebook(SHIPPED, known)


def compiled() -> str:
    """The text of the file `COMPILED`: what each rule that ships holds, under the digest of its bytes."""
    read = ((path.read_bytes(), _read(family, path, beside, {})) for family, path, beside in _pairs(SHIPPED, OWN))
    lines = (f'"{_digest(text)}": {json.dumps(_kept(rule), ensure_ascii=False)}' for text, rule in read)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def families() -> Mapping[str, str]:
    """What each family of the catalogue is about, in a sentence."""
    import ast  # noqa: PLC0415 (only the pages of the catalogue need it, and a check starts fast)

    folders = (entry for entry in SHIPPED.iterdir() if entry.joinpath("__init__.py").is_file())
    texts = {folder.name: folder.joinpath("__init__.py").read_text(encoding="utf-8") for folder in folders}
    return {name: ast.get_docstring(ast.parse(text)) or "" for name, text in sorted(texts.items())}


def rulebook(folder: Path, known: Mapping[str, Any] = MappingProxyType({})) -> tuple[Rule, ...]:
    """Every rule under `folder`: `ID.yaml` or `FAMILY/ID.yaml`, with an `ID.py` beside it if it needs one.

    `known` is what texts hold, by their digest, as `compiled` writes it: such a text is not parsed and checked again.

    Raises:
        Refused: with everything that is wrong in any of the files.
        Trouble: a file that does not belong there, Python that does not load, or an id that stands twice.
    """
    rules: list[Rule] = []
    wrong: list[Diagnostic] = []
    sources: dict[str, tuple[str, ...]] = {}
    for family, path, beside in _pairs(folder, OWN):
        try:
            rules.append(_read(family, path, beside, known))
        except Refused as refused:
            wrong += refused.diagnostics
            sources |= refused.sources
    if wrong:
        raise Refused(wrong, sources)
    for one, count in Counter(rule.id for rule in rules).items():
        if count > 1:
            raise Trouble(f"rule {one} stands twice in {folder}", "rename one of the two files")
    return tuple(sorted(rules, key=lambda rule: (rule.family, rule.id)))


def _pairs(folder: Path, family: str) -> Iterator[tuple[str, Path, Path | None]]:
    entries = {
        entry.name: entry for entry in folder.iterdir() if entry.name not in {"__init__.py", "__pycache__", COMPILED}
    }
    for name, entry in sorted(entries.items()):
        stem, _, suffix = name.rpartition(".")
        if suffix == "yaml":
            yield family, entry, entries.get(f"{stem.replace('-', '_')}.py")
        elif family == OWN and entry.is_dir():
            yield from _pairs(entry, name)
        elif suffix != "py" or f"{stem.replace('_', '-')}.yaml" not in entries:
            raise Trouble(f"{entry} is no rule", "a rule is ID.yaml, with ID.py beside it if it needs one")


def _read(family: str, path: Path, beside: Path | None, known: Mapping[str, Any]) -> Rule:
    rule_id = path.name.removesuffix(".yaml")
    text = path.read_bytes()
    named = {"id": rule_id, "family": family}
    if kept := known.get(_digest(text)):
        return Rule.trusted({**kept, **named, "verdict": _when_asked(beside) if beside else None})
    verdict = _verdict(beside) if beside else None
    try:
        data = _parsed(text)
        return Rule.model_validate({**(data if isinstance(data, Mapping) else {}), **named, "verdict": verdict})
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise _refusal(text, str(path), named) from error


def _refusal(text: bytes, file: str, named: Mapping[str, str]) -> Refused:
    """Everything that is wrong with the rule in `text`, each in its place."""
    from dsv4deploy.model.document import Merged  # noqa: PLC0415 (only for a rule that does not load)
    from dsv4deploy.source.document import load  # noqa: PLC0415 (likewise)
    from dsv4deploy.source.validate import validate  # noqa: PLC0415 (likewise)

    try:
        document = load(_without_dates(text), file)
        lines = {file: tuple(text.decode().split("\n"))}
        tree = document.tree if isinstance(document.tree, dict) else {}
        validate(Merged({**tree, **named}, document.keys, document.values, lines), Rule, "rule")
    except Refused as refused:
        return refused
    told = "it is YAML that only some readers take"
    return Refused([Diagnostic("yaml-syntax", Level.ERROR, told, place=Place(file, 1, 1, 1, 1), remedy=LIKE_OURS)], {})


def _without_dates(text: bytes) -> bytes:
    """The text with another first digit in every date, which a rule need not quote; nothing moves."""
    return re.sub(rb"(?<![\w\"'/-])\d(?=\d{3}-\d\d-\d\d(?![\w\"'/-]))", b"d", text)


def _kept(rule: Rule) -> dict[str, Any]:
    """What of a rule is written down for `Rule.trusted`: all but what its place says, and its test."""
    return rule.model_dump(mode="json", exclude_unset=True, exclude={"id", "family", "examples"})


def _parsed(text: bytes) -> Any:  # noqa: ANN401 (whatever a file holds)
    return yaml.load(text.decode(), _Loader)  # noqa: S506 (a safe loader, made stricter)


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _when_asked(path: Path) -> Verdict:
    """The verdict in `path`, loaded with the first question: most rules fall with a condition before."""
    loaded = cache(lambda: _verdict(path))

    def verdict(ask: Ask) -> Found | str | None:
        return loaded()(ask)

    return verdict


def _verdict(path: Path) -> Verdict:
    stem = path.name.removesuffix(".py")
    spec = importlib.util.spec_from_file_location(f"dsv4deploy_rule_{stem}", path)
    if spec is None or spec.loader is None:
        raise Trouble(f"{path} cannot be loaded", "a rule in Python is a plain file")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
        verdict: Verdict = module.verdict
    except Exception as error:
        raise Trouble(f"{path} does not load: {error}", "it must define verdict(ask)") from error
    return verdict
