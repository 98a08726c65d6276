"""The answer of triage as a person reads it."""

from collections.abc import Mapping
from typing import Any

_INDENT = "  = "


def screen(told: Mapping[str, Any], name: str) -> str:
    """The answer `triage/1` in a few lines: what became of it, the decisive line, what to change and how to be sure."""
    lines = [_headline(told), f"  --> {name}:{told['line']}{_by(told)}", f"      {told['root']}"]
    if told["class"]:
        lines += [
            _part("means", told["title"]),
            _part("change", ", ".join(told["change"])),
            _part("remedy", told["remedy"]),
            _part("rules", ", ".join(told["rules"]) + (" (dsv4deploy explain RULE)" if told["rules"] else "")),
            _part("refute", told["refute"]),
        ]
    elif told["state"] == "failed" or _crashed(told):
        lines += [_part("means", "not recognised: no signature explains it; the last lines are"), *_last(told)]
    return "\n".join(line for line in (*lines, *_notes(told)) if line)


def _notes(told: Mapping[str, Any]) -> list[str]:
    notes = []
    if told["other_engine"]:
        notes.append(
            _part("note", f"{told['other_engine']} wrote this and not SGLang: stages and remedies are SGLang's")
        )
    elif told["state"] == "progressing" and not told["stages"]:
        notes.append(_part("note", "no line of it is known to be SGLang's: is this the server's log?"))
    if told["starts"] > 1:
        begins = f"from line {told['begins']} on"
        notes.append(_part("note", f"the log holds {told['starts']} starts; this is of the last one, {begins}"))
    return notes


def _headline(told: Mapping[str, Any]) -> str:
    state, stage, kind = told["state"], told["stage"], told["class"]
    then = told["then"]
    if state == "ready":
        after = f"ready at line {told['ready_line']}"
        if then:
            after += f", then {then['state']} at line {then['line']}"
        return f"{after}: {kind}" if kind else after
    said = kind or ("not recognised" if state == "failed" else "")
    return f"{state} in {stage}: {said}" if said else f"{state} in {stage}"


def _crashed(told: Mapping[str, Any]) -> bool:
    return bool(told["then"]) and told["then"]["state"] == "crashed"


def _by(told: Mapping[str, Any]) -> str:
    return f" ({told['rank']})" if told["rank"] else ""


def _part(name: str, text: str | None) -> str:
    return f"{_INDENT}{name + ':':8} {text}" if text else ""


def _last(told: Mapping[str, Any]) -> list[str]:
    return [f"      {line[:160]}" for line in told["lines"]]
