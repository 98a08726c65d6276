"""A facts document (`--facts`, and what a node or a model folder answers): a tree -> `Facts`, with everything odd told.

A key that nobody knows is ignored with a note; a value of the wrong type is an error and counts as unknown.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ValidationError

from dsv4deploy.model.checkpoint import Checkpoint
from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.facts import Facts, ModelFacts
from dsv4deploy.model.nearest import nearest
from dsv4deploy.model.place import Place

Path = tuple[str | int, ...]
Where = Callable[[Path], Place | None]
Value = TypeVar("Value", bound=BaseModel)
SCHEMA = "facts/1"
_OF_NODES = "node-facts/1"  # the facts of several nodes at once, which no rule can be asked with
# Document keys that are no facts themselves.
BESIDE = ("schema", "checkpoint")


class FactsDocument(NamedTuple):
    """What a facts document says; `checkpoint` if it was made from a model folder."""

    facts: Facts
    checkpoint: Checkpoint | None = None
    diagnostics: tuple[Diagnostic, ...] = ()


def nowhere(_: Path) -> None:
    """The place of everything in a document that has no text."""


def read_facts(tree: object, where: Where = nowhere) -> FactsDocument:
    """The facts in `tree`; `where` tells the place of a key path."""
    if tree is None:
        return FactsDocument(Facts())
    if not isinstance(tree, Mapping):
        return FactsDocument(Facts(), diagnostics=(_wrong((), "facts are a mapping of keys to values", where),))
    own = {key: value for key, value in tree.items() if key not in (*BESIDE, "model")}
    told = [*_schema(tree.get("schema"), where), *_unknown((), own, Facts, where)]
    model, broken = _checked(ModelFacts, tree.get("model"), ("model",), where)
    told += (
        broken if isinstance(tree.get("model"), Mapping | None) else [_wrong(("model",), "model is a mapping", where)]
    )
    facts, broken = _checked(Facts, own, (), where)
    told += broken
    checkpoint, broken = _checked(Checkpoint, tree.get("checkpoint"), ("checkpoint",), where)
    told += broken
    known = "checkpoint" in tree and not broken
    return FactsDocument(facts.model_copy(update={"model": model}), checkpoint if known else None, tuple(told))


def _checked(kind: type[Value], tree: object, path: Path, where: Where) -> tuple[Value, list[Diagnostic]]:
    """A value of `kind` without the keys that are wrong, and what is wrong with them."""
    if not isinstance(tree, Mapping):
        return kind(), []
    told = list(_unknown(path, tree, kind, where)) if path else []
    known = {key: value for key, value in tree.items() if key in kind.model_fields}
    try:
        return _strictly(kind, known), told
    except ValidationError as error:
        wrong = {found["loc"][0]: found for found in error.errors()}
    told += [_wrong((*path, *found["loc"]), _mismatch(found), where, _quoting(found)) for found in wrong.values()]
    return _strictly(kind, {key: value for key, value in known.items() if key not in wrong}), told


def _strictly(kind: type[Value], known: Mapping[str, object]) -> Value:
    """As elsewhere in the house no single value is converted; a list may become a tuple."""
    return kind.model_validate_json(json.dumps(known, default=str), strict=True)


def _unknown(path: Path, tree: Mapping[Any, object], kind: type[BaseModel], where: Where) -> Iterator[Diagnostic]:
    for key in tree:
        if key not in kind.model_fields:
            near = nearest(str(key), kind.model_fields)
            remedy = f"write {_dotted((*path, near))} if that is meant" if near else ""
            yield Diagnostic(
                "fact-unknown",
                Level.NOTE,
                f"{_dotted((*path, str(key)))} is no fact that any rule asks for; it is ignored",
                place=where((*path, str(key))),
                remedy=remedy,
            )


def _schema(written: object, where: Where) -> Iterator[Diagnostic]:
    if written not in (None, SCHEMA):
        remedy = "name one node: dsv4deploy facts -i INVENTORY --limit NODE" if written == _OF_NODES else ""
        yield _wrong(("schema",), f"{_said(written)} is no schema that is read here: it is {SCHEMA}", where, remedy)


def _wrong(path: Path, message: str, where: Where, remedy: str = "") -> Diagnostic:
    subject = _dotted(path)
    return Diagnostic(
        "fact-wrong-type",
        Level.ERROR,
        f"{subject}: {message}" if subject else message,
        names=(f"fact:{subject}",) if subject else (),
        place=where(path),
        effect="the fact counts as unknown" if subject else "no fact is known",
        remedy=remedy,
    )


def _mismatch(found: Any) -> str:  # noqa: ANN401 (pydantic's own error value)
    expected = str(found["msg"]).replace("Input should be", "it should be").replace("tuple", "list")
    return f"{_said(found['input'])} is no value for it: {expected}"


def _quoting(found: Any) -> str:  # noqa: ANN401 (pydantic's own error value)
    return "quote it" if found["type"] == "string_type" else ""


def _said(value: object) -> str:
    return repr(value)[:60]


def _dotted(path: Path) -> str:
    return ".".join(map(str, path))
