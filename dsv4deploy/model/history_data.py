"""The stored form of catalogues and of the history: plain values that JSON can hold."""

from collections.abc import Iterator, Mapping
from typing import Any

from dsv4deploy.model.flag import Catalogue, EnvVar, Flag
from dsv4deploy.model.history import Change, Foreign, History, Meaning, Overlay, Restriction, stored, unfolded

CATALOGUE = "catalogue/1"
HISTORY = "flag-history/1"


def catalogue_data(catalogue: Catalogue) -> dict[str, Any]:
    """`catalogue` as a document of its own."""
    return {
        "schema": CATALOGUE,
        "engine": "sglang",
        "version": catalogue.version,
        "flags": {name: stored(flag) for name, flag in sorted(catalogue.flags.items())},
        "variables": {name: stored(variable) for name, variable in sorted(catalogue.variables.items())},
    }


def catalogue_from(data: Mapping[str, Any]) -> Catalogue:
    """The inverse of `catalogue_data`.

    Raises:
        ValueError: this is no such document; the message says why.
    """
    if data.get("schema") != CATALOGUE:
        raise ValueError(f"schema is {data.get('schema')!r}, not {CATALOGUE!r}")
    try:
        return Catalogue(
            str(data["version"]),
            {name: unfolded(Flag, name, record) for name, record in data["flags"].items()},
            {name: unfolded(EnvVar, name, record) for name, record in data["variables"].items()},
        )
    except (KeyError, TypeError, AttributeError) as problem:
        raise ValueError(f"{type(problem).__name__}: {problem}") from problem


def loaded(data: Mapping[str, Any]) -> History:
    """The history from its document."""
    return History(tuple(data["versions"]), data["flags"], data["variables"], overlay_from(data["overlay"]))


def overlay_from(data: Mapping[str, Any]) -> Overlay:
    """The overlay from the documents of `flags/overlay`, merged.

    Raises:
        TypeError: an entry has a key that nobody knows, or lacks one.
    """
    return Overlay(
        changes={each["old"]: Change(**_tuples(each)) for each in data.get("changes", ())},
        restrictions=tuple(Restriction(**_tuples(each)) for each in data.get("restrictions", ())),
        foreign={each["name"]: Foreign(**_tuples(each)) for each in data.get("foreign", ())},
        meanings={each["name"]: Meaning(**each) for each in data.get("meanings", ())},
        libraries={each.name: each for group in data.get("libraries", ()) for each in _variables(group)},
        complete=tuple(data.get("complete", ())),
    )


def _variables(group: Mapping[str, Any]) -> Iterator[EnvVar]:
    """One entry may speak of one `name` or of many `names`."""
    shared = {"registered": False, **_tuples(group)}
    names = shared.pop("names", ()) or (shared.pop("name"),)
    for name in names:
        yield EnvVar(name=name, **shared)


def _tuples(entry: Mapping[str, Any]) -> dict[str, Any]:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in entry.items()}
