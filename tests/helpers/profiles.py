"""Profiles made up by hypothesis: any subset of fields, flags and variables that one engine version has."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import yaml
from hypothesis import strategies as st
from pydantic import BaseModel

from dsv4deploy.flags import history
from dsv4deploy.model.flag import Catalogue, Flag
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.profile.section import Says

VERSIONS = ("0.5.6", "0.5.9", "0.5.12.post1", "0.5.13.post1", "0.5.14", "0.5.17", "0.5.20", "0.5.23")
# Everything that an argument may hold, with what shells, units and YAML stumble over in front.
HOSTILE = [
    "it's",
    '"',
    "$(id)",
    "`id`",
    "a\nb",
    "%n %%",
    "é 漢字 🙂",
    "-x",
    "--tp-size",
    "a b",
    "\\",
    "#",
    "~",
    "*",
    "\x7f",
    "\x01",
]
TEXT = st.sampled_from(HOSTILE) | st.text(
    st.characters(blacklist_categories=["Cs"], blacklist_characters="\0"), min_size=1, max_size=20
)
# Sizes and lists as words, and what SGLang reads them as.
WORDS = {"128k": 128_000, "1.5M": 1_500_000, "64Ki": 65_536, "[1, 2]": [1, 2]}
BY_TYPE: dict[str, st.SearchStrategy[Any]] = {
    "int": st.integers(1, 60_000),
    "human-int": st.integers(1, 10**7) | st.sampled_from([word for word in WORDS if word[0] != "["]),
    "float": st.floats(0.01, 1000),
    "json": st.dictionaries(st.text("abc", min_size=1, max_size=3), st.integers(0, 9), min_size=1, max_size=2),
    "json-list": st.just("[1, 2]"),
    "graph-backend": st.just("disabled"),
}
# Said by the fields below, or never by a profile that means to serve.
LEFT_OUT = {"model_path", "port", "config", "help", "model_checksum", "lora_paths"}


@dataclass(frozen=True, slots=True)
class MadeUp:
    """One profile: its engine version, its tree, the tree as YAML, and what the engine must make of it, by dest."""

    version: str
    tree: dict[str, Any]
    meant: dict[str, Any]

    @property
    def text(self) -> str:
        """The profile as a file."""
        return str(yaml.dump(self.tree, Dumper=_Quoting, sort_keys=False, width=10_000))


class _Quoting(yaml.SafeDumper):
    """Writes every text in quotes: PyYAML leaves `08` bare, which a stricter reader takes for a number."""


_Quoting.add_representer(str, lambda dumper, text: dumper.represent_scalar("tag:yaml.org,2002:str", text, style='"'))


@st.composite
def profiles(draw: st.DrawFn, versions: tuple[str, ...] = VERSIONS) -> MadeUp:
    """A profile that is right in shape and in every flag, though not one that anybody should serve."""
    version = draw(st.sampled_from(versions))
    catalogue = history().at(version)
    tree: dict[str, Any] = {
        "name": draw(st.from_regex(r"[a-z][a-z0-9]{0,8}", fullmatch=True)),
        "engine": {"version": version, "venv": "/opt/venv"},
        "model": {"path": draw(TEXT.filter(lambda text: not text.startswith("-")))},
    }
    fields = [(path, flag, says.when) for path, says in _fields() if (flag := _first(says, catalogue))]
    meant: dict[str, Any] = {"model_path": tree["model"]["path"]}
    chosen = st.lists(st.sampled_from(fields), max_size=12, unique_by=lambda each: each[1].dest)
    for path, flag, when in draw(chosen):
        value = draw(_field_value(path, flag))
        _put(tree, path, value)
        meant[flag.dest] = (value is when) if isinstance(value, bool) else _read(value)
    covered = {flag.dest for _, flag, _ in fields} | LEFT_OUT
    others = [flag for flag in catalogue.flags.values() if flag.dest not in covered and _plain(flag)]
    for flag in draw(st.lists(st.sampled_from(others), max_size=8, unique_by=lambda each: each.dest)):
        value = draw(_value(flag))
        _put(tree, ("args", flag.name.removeprefix("--")), value)
        meant[flag.dest] = _read(value)
    names = st.from_regex(r"MY_[A-Z]{1,6}", fullmatch=True)
    if environment := draw(st.dictionaries(names, TEXT, max_size=3)):
        tree["env"] = environment
    return MadeUp(version, tree, meant)


@cache
def _fields() -> tuple[tuple[tuple[str, ...], Says], ...]:
    return tuple(_walk(Profile, ()))


def _walk(model: type[BaseModel], path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Says]]:
    for name, info in model.model_fields.items():
        if isinstance(info.annotation, type) and issubclass(info.annotation, BaseModel):
            yield from _walk(info.annotation, (*path, name))
        for note in info.metadata:
            if isinstance(note, Says) and (*path, name) not in {("model", "path"), ("server", "port")}:
                yield (*path, name), note


def _first(says: Says, catalogue: Catalogue) -> Flag | None:
    flag = next((known for name in says.flags if (known := catalogue.flag(name))), None)
    return flag if flag and _plain(flag) else None


def _plain(flag: Flag) -> bool:
    return not flag.deprecated and flag.action in {"store", "store-true"} and flag.type != "graph-config"


def _field_value(path: tuple[str, ...], flag: Flag) -> st.SearchStrategy[Any]:
    if flag.action == "store-true":
        return st.booleans()
    if path[-1] in {"fraction_static", "swa_full_tokens_ratio"}:
        return st.floats(0.01, 0.99)
    if path[-1] == "batch_sizes":
        return st.lists(st.integers(1, 512), min_size=1, max_size=3)
    if path[-1] == "host":
        return st.sampled_from(["127.0.0.1", "::", "gpu01"])
    return _value(flag)


def _value(flag: Flag) -> st.SearchStrategy[Any]:
    if flag.action == "store-true":
        return st.just(True)
    one = _one(flag)
    if flag.nargs in {"+", "*"}:
        return st.lists(one.filter(lambda value: not str(value).startswith("-")), min_size=1, max_size=3)
    return one


def _one(flag: Flag) -> st.SearchStrategy[Any]:
    if flag.choices:
        return st.sampled_from([choice for choice in flag.choices if choice is not None])
    return BY_TYPE.get(flag.type, TEXT)


def _put(tree: dict[str, Any], path: tuple[str, ...], value: object) -> None:
    for step in path[:-1]:
        tree = tree.setdefault(step, {})
    tree[path[-1]] = value


def _read(value: object) -> object:
    return WORDS.get(value, value) if isinstance(value, str) else value
