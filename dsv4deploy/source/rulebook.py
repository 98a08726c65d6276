"""Reads a folder of rules: one YAML file each, a Python file beside it where data cannot say it."""

import hashlib
import importlib.util
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

import yaml
from pydantic import ValidationError

from dsv4deploy.model.rule import Rule, Verdict
from dsv4deploy.model.trouble import Trouble

OWN: Final = "own"  # the family of rules that stand in no folder of a family
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
    """The rules that ship with the program, by family and name."""
    try:
        known = json.loads((SHIPPED / COMPILED).read_bytes())
    except (OSError, ValueError):
        known = {}  # nothing but time is lost without it
    return rulebook(SHIPPED, known)


def compiled() -> str:
    """The text of the file `COMPILED`: what stands in each rule that ships, under the digest of its bytes."""
    texts = (path.read_bytes() for _, path, _ in _pairs(SHIPPED, OWN))
    lines = (f'"{_digest(text)}": {json.dumps(_parsed(text), ensure_ascii=False)}' for text in texts)
    return "{\n" + ",\n".join(lines) + "\n}\n"


def families() -> Mapping[str, str]:
    """What each family of the catalogue is about, in a sentence."""
    import ast  # noqa: PLC0415 (only the pages of the catalogue need it, and a check starts fast)

    folders = (entry for entry in SHIPPED.iterdir() if entry.joinpath("__init__.py").is_file())
    texts = {folder.name: folder.joinpath("__init__.py").read_text(encoding="utf-8") for folder in folders}
    return {name: ast.get_docstring(ast.parse(text)) or "" for name, text in sorted(texts.items())}


def rulebook(folder: Path, known: Mapping[str, Any] = MappingProxyType({})) -> tuple[Rule, ...]:
    """Every rule under `folder`: `ID.yaml` or `FAMILY/ID.yaml`, with an `ID.py` beside it if it needs one.

    `known` is what texts hold, by their digest: such a text is not parsed again.

    Raises:
        Trouble: a file that does not belong there, or a rule that is wrong in any way.
    """
    rules = [_read(family, path, beside, known) for family, path, beside in _pairs(folder, OWN)]
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
        if entry.is_dir() and family == OWN:
            yield from _pairs(entry, name)
        elif suffix == "yaml":
            yield family, entry, entries.get(f"{stem.replace('-', '_')}.py")
        elif suffix != "py" or f"{stem.replace('_', '-')}.yaml" not in entries:
            raise Trouble(f"{entry} is no rule", "a rule is ID.yaml, with ID.py beside it if it needs one")


def _read(family: str, path: Path, beside: Path | None, known: Mapping[str, Any]) -> Rule:
    rule_id = path.name.removesuffix(".yaml")
    try:
        text = path.read_bytes()
        data = known.get(_digest(text)) or _parsed(text)
        if not isinstance(data, Mapping):
            raise Trouble(f"{path}: a rule is a mapping", "see the rules that ship with the program")
        verdict = _verdict(beside) if beside else None
        return Rule.model_validate({**data, "id": rule_id, "family": family, "verdict": verdict})
    except (yaml.YAMLError, ValidationError, UnicodeDecodeError) as error:
        raise Trouble(f"rule {rule_id} does not load: {_short(error)}", f"see {path}") from error


def _parsed(text: bytes) -> Any:  # noqa: ANN401 (whatever a file holds)
    return yaml.load(text.decode(), _Loader)  # noqa: S506 (a safe loader, made stricter)


def _digest(text: bytes) -> str:
    return hashlib.blake2b(text, digest_size=16).hexdigest()


def _short(error: Exception) -> str:
    if isinstance(error, ValidationError):
        return "; ".join(f"{'.'.join(map(str, e['loc'])) or 'it'}: {e['msg']}" for e in error.errors())
    return " ".join(str(error).split())


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
