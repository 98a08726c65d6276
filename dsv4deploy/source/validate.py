"""A merged tree becomes an instance of a Pydantic model, or a diagnostic for everything that does not fit, in its place.

Single values are never converted: `"4"` is no number, 4.0 no whole one, `"yes"` no boolean.
"""

import copy
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from dsv4deploy.model.diagnostic import Diagnostic, Refused
from dsv4deploy.model.document import KeyPath, Merged, Tree

if TYPE_CHECKING:
    from dsv4deploy.source.misfits import Misfit

M = TypeVar("M", bound=BaseModel)
# What most texts may be, and what a path may be.
_STAND_INS = ("x", "/x")


def validate(merged: Merged, model: type[M], what: str = "profile") -> M:
    """The instance of `model` that `merged` describes; `what` is the word for such a document.

    Raises:
        Refused: with everything that does not fit.
    """
    try:
        # Strict in the way of JSON: no single value is converted, but a list may become a tuple.
        return model.model_validate_json(json.dumps(merged.tree), strict=True)
    except ValidationError as error:
        found = [one for one in error.errors(include_url=False) if not _only_seems_short(one, error)]
    raise Refused(_diagnostics(found, merged, model, what), merged.sources)


def _only_seems_short(one: ErrorDetails, error: ValidationError) -> bool:
    """Whether a list is too short only because the items that do not fit are not counted."""
    at = one["loc"]
    return one["type"] == "too_short" and any(other["loc"][: len(at)] == at != other["loc"] for other in error.errors())


def fitting(merged: Merged, model: type[M]) -> M | None:
    """An instance of what does fit, with stand-ins where something must stand; None if too little does."""
    tree: Tree = copy.deepcopy(merged.tree)
    tried: dict[KeyPath, int] = defaultdict(int)
    while True:
        try:
            return model.model_validate_json(json.dumps(tree), strict=True)
        except ValidationError as error:
            misfits = {found.path: found for found in (_located(one, tree) for one in error.errors(include_url=False))}
        # What is deeper, or later in a list, goes first.
        for path in sorted(misfits, reverse=True):
            if path and misfits[path].error["type"] != "extra_forbidden" and tried[path] < len(_STAND_INS):
                _put(tree, path, _STAND_INS[tried[path]])
            elif not _take_out(tree, path) and not _take_out(tree, path[:-1]):
                return None
            tried[path] += 1


def _put(tree: Tree, path: KeyPath, value: Tree) -> None:
    owner = _owner(tree, path)
    if isinstance(owner, dict):
        owner[str(path[-1])] = value
    elif isinstance(owner, list):
        owner[int(path[-1])] = value


def _take_out(tree: Tree, path: KeyPath) -> bool:
    """Whether there was something at `path`; nothing is there any more."""
    owner = _owner(tree, path)
    if not path or owner is None or not _children(owner, path[-1]):
        return False
    if isinstance(owner, dict):
        del owner[str(path[-1])]
    elif isinstance(owner, list):
        del owner[int(path[-1])]
    return True


def _owner(tree: Tree, path: KeyPath) -> Tree:
    """The mapping or list that holds the last step of `path`; None if there is none."""
    for step in path[:-1]:
        children = _children(tree, step)
        if not children:
            return None
        [tree] = children
    return tree


def _diagnostics(
    errors: Sequence[ErrorDetails], merged: Merged, model: type[BaseModel], what: str
) -> Iterator[Diagnostic]:
    from dsv4deploy.source.misfits import told  # noqa: PLC0415 (only for what does not fit)

    for group in _groups([_located(error, merged.tree) for error in errors]):
        yield told(group, merged, model, what)


def _located(error: ErrorDetails, tree: Tree) -> "Misfit":
    """The key path in a `loc`, which also holds the names of union members that were tried."""
    from dsv4deploy.source.misfits import Misfit  # noqa: PLC0415 (likewise)

    loc = error["loc"]
    is_key = loc[-1:] == ("[key]",)
    loc = loc[:-1] if is_key else loc
    last: KeyPath = ()
    if error["type"] in ("missing", "extra_forbidden") and loc:
        loc, last = loc[:-1], loc[-1:]
    wanted = None if is_key or error["type"] == "extra_forbidden" else error["input"]
    walks = list(_walks(loc, tree, ()))
    exact = [walk for walk in walks if wanted is not None and walk[1] == wanted]
    path, _ = (exact or walks)[0]
    return Misfit(error, (*path, *last), *_tried(loc, path), is_key)


def _walks(loc: KeyPath, tree: Tree, path: KeyPath) -> Iterator[tuple[KeyPath, Tree]]:
    """Every way to read `loc` as a path into `tree`, passing over steps that are no keys; the most literal first."""
    if not loc:
        yield path, tree
        return
    step, rest = loc[0], loc[1:]
    for child in _children(tree, step):
        yield from _walks(rest, child, (*path, step))
    if isinstance(step, str):
        yield from _walks(rest, tree, path)


def _children(tree: Tree, step: str | int) -> list[Tree]:
    """The value below `tree` that `step` names: one, or none."""
    if isinstance(tree, dict):
        return [tree[step]] if isinstance(step, str) and step in tree else []
    return tree[step : step + 1] if isinstance(tree, list) and isinstance(step, int) else []


def _tried(loc: KeyPath, path: KeyPath) -> tuple[KeyPath | None, str]:
    """Where the first union on the way is, and which of its members was tried; (None, "") if there is none."""
    for index, step in enumerate(loc):
        if index >= len(path) or path[index] != step:
            return path[:index], str(step)
    return None, ""


def _groups(misfits: "Sequence[Misfit]") -> "Iterator[list[Misfit]]":
    """What is told together: a union that nothing fits is one diagnostic, or those of the member that was meant."""
    unions: dict[KeyPath, dict[str, list[Misfit]]] = defaultdict(lambda: defaultdict(list))
    for misfit in misfits:
        if misfit.union is None:
            yield [misfit]
        else:
            unions[misfit.union][misfit.member].append(misfit)
    for union, members in unions.items():
        entered = [found for found in members.values() if not any(_turned_away(misfit, union) for misfit in found)]
        if entered:
            for misfit in min(entered, key=len):
                yield [misfit]
        else:
            yield [misfit for found in members.values() for misfit in found if misfit.path == union]


def _turned_away(misfit: "Misfit", union: KeyPath) -> bool:
    """Whether the value is not of this member's kind at all (a list where a number is wanted, another `kind:`)."""
    return misfit.path == union and misfit.is_of_another_kind
