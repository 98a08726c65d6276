"""Flags and variables of engine versions as text for people and as plain values for programs."""

from collections.abc import Iterable, Mapping
from textwrap import wrap
from typing import Any

from dsv4deploy.model.flag import Absent, Catalogue, EnvVar, Flag, Life
from dsv4deploy.model.history import History

WIDTH = 100


def flags_data(names: Iterable[str], catalogue: Catalogue, history: History) -> dict[str, Any]:
    """The document `flags/1`: every flag and variable of `names`, as `catalogue` has it and with its life."""
    # Two spellings of one flag are one entry.
    entries = list({entry["name"]: entry for entry in (_entry(name, catalogue, history) for name in names)}.values())
    return {
        "schema": "flags/1",
        "engine": catalogue.version,
        "flags": [entry for entry in entries if entry["name"].startswith("--")],
        "variables": [entry for entry in entries if not entry["name"].startswith("--")],
    }


def _entry(name: str, catalogue: Catalogue, history: History) -> dict[str, Any]:
    thing = catalogue.flag(name) or catalogue.variables.get(name)
    life = history.life(name)
    meaning = history.overlay.meanings.get(thing.name if thing else name)
    return {
        "name": thing.name if thing else name,
        "meaning": meaning.text if meaning else None,
        "unit": meaning.unit or None if meaning else None,
        **(_now(thing) if thing else {"known": False}),
        **(_life(life) if life else {}),
    }


def _now(thing: Flag | EnvVar) -> dict[str, Any]:
    """What this version says of it."""
    shared = {"known": True, "type": thing.type, "choices": _list(thing.choices), "deprecated": thing.deprecated}
    if isinstance(thing, EnvVar):
        return {**shared, "default": thing.default, "owner": thing.owner, "registered": thing.registered}
    return {
        **shared,
        "aliases": list(thing.aliases),
        "dest": thing.dest,
        "accepts": _list(thing.accepts),
        "default": None if isinstance(thing.default, Absent) else thing.default,
        "nargs": thing.nargs,
        "action": thing.action,
        "required": thing.required,
        "limits": thing.limits or None,
        "json_text": thing.holds_json,
    }


def _life(life: Life) -> dict[str, Any]:
    return {
        "since": life.since,
        "until": life.until,
        "spans": [list(span) for span in life.spans],
        "deprecated_since": life.deprecated,
        "renamed_to": list(life.renamed_to),
        "renamed_from": list(life.renamed_from),
        "note": life.note or None,
    }


def _list(values: Iterable[Any] | None) -> list[Any] | None:
    return None if values is None else list(values)


def flags_table(data: Mapping[str, Any]) -> str:
    """One line for each entry of the document `flags/1`: name, type, choices or default, life."""
    entries = [*data["flags"], *data["variables"]]
    width = max((len(entry["name"]) for entry in entries), default=0)
    return "".join(f"{entry['name']:{width}}  {_line(entry)}".rstrip() + "\n" for entry in entries)


def _line(entry: Mapping[str, Any]) -> str:
    kind = entry.get("type", "")
    said = f"one of {len(entry['choices'])}" if entry.get("choices") else kind
    return f"{said:14}{_when(entry)}"


def _when(entry: Mapping[str, Any]) -> str:
    if "since" not in entry:
        return f"read by {entry.get('owner', 'nobody')}"
    spans = ", ".join(f"{since} to {until}" for since, until in entry["spans"])
    parts = [f"since {entry['since']}" if not entry["until"] and len(entry["spans"]) == 1 else f"only {spans}"]
    if entry["deprecated_since"]:
        parts.append(f"deprecated from {entry['deprecated_since']} on")
    if entry["renamed_to"]:
        parts.append(f"now {' or '.join(entry['renamed_to'])}")
    return ", ".join(parts)


def flag_page(entry: Mapping[str, Any], engine: str) -> str:
    """Everything about one entry of the document `flags/1`."""
    lines = [entry["name"], *([f"  {entry['meaning']}"] if entry["meaning"] else [])]
    lines += [f"  in {entry['unit']}"] if entry["unit"] else []
    lines.append(f"  {_when(entry)}")
    if entry.get("note"):
        lines.append(f"  note: {entry['note']}")
    if entry.get("renamed_from"):
        lines.append(f"  replaces {', '.join(entry['renamed_from'])}")
    lines.append(f"  in SGLang {engine}: {_here(entry)}")
    for label, key in (("also written", "aliases"), ("choices", "choices"), ("accepted after parsing", "accepts")):
        if entry.get(key):
            lines += wrap(
                f"{label}: {', '.join(map(str, entry[key]))}",
                WIDTH,
                initial_indent="  ",
                subsequent_indent="    ",
                break_on_hyphens=False,
                break_long_words=False,
            )
    return "\n".join(lines) + "\n"


def _here(entry: Mapping[str, Any]) -> str:
    if not entry["known"]:
        return "not there"
    if "dest" not in entry:
        reader = "in the engine's registry" if entry["registered"] else f"read by {entry['owner']}"
        return f"{entry['type']}, default {entry['default']}, {reader}"
    words = {0: "no value", "?": "no value or one", "*": "any number of values", "+": "one value or more"}
    parts = [entry["type"], words.get(entry["nargs"], "one value"), f"default {entry['default']}"]
    parts += ["holds JSON"] * entry["json_text"]
    parts += ["required"] * entry["required"] + ["deprecated"] * entry["deprecated"]
    return ", ".join(parts + [entry["limits"]] * bool(entry["limits"]))
