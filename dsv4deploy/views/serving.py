"""What runs where, as text."""

from collections.abc import Mapping, Sequence
from typing import Any

from dsv4deploy.model.mark import Mark
from dsv4deploy.model.observed import Deployment

_SHORT = 12
_HEALTHY = 200  # HTTP's own number


def state(has: Deployment) -> str:
    """One word for a deployment: `ready`, `starting`, `on trial`, `failed`, `stopped`, `not deployed`."""
    if has.current is None:
        return "not deployed"
    if has.running is None:
        return "failed" if has.unit and has.unit.active == "failed" else "stopped"
    if has.pending:
        return "on trial"
    return "ready" if has.http == _HEALTHY else "starting"


def status(found: Sequence[tuple[str, str, Deployment]], marks: Sequence[Mark] = ()) -> str:
    """One line for each deployment, and one for each thing that is not as it should be, the newest mark included."""
    if not found:
        return "Nothing is deployed.\n"
    lines = []
    for node, name, has in found:
        release = f"release {has.current[:_SHORT]}" if has.current else ""
        process = f"pid {has.running.pid}" if has.running else ""
        http = f"/health {has.http}" if has.http else ""
        stage = f"at {has.stage}" if has.running and has.stage not in {None, "serve"} else ""
        restarts = f"{has.unit.restarts} restarts" if has.unit and has.unit.restarts else ""
        lines.append(
            "  ".join(word for word in (node, name, state(has), release, process, http, stage, restarts) if word)
        )
        if has.load:
            lines.append(f"  {_load(has.load)}")
        lines += [f"  ~ {one.path}: {one.what}" for one in has.drift]
        if has.running and has.running.as_written is False:
            lines.append("  ~ process: what runs is not what the files say")
        lines += _stopped(has)
        if has.lock:
            lines.append(f"  {has.lock.who} applies here since {has.lock.since}")
        lines += _newest(node, name, marks)
    return "\n".join(lines) + "\n"


def _stopped(has: Deployment) -> list[str]:
    """How a server that does not run ended, and what a trial that it left means."""
    if has.running or has.current is None:
        return []
    result = has.unit.result if has.unit else None
    told = [f"  ~ process: {result}"] if result not in {None, "success"} else []
    if has.aside:
        told.append(f"  stopped for an experiment of {has.aside.who} since {has.aside.since}, and comes back after it")
    if has.pending:
        to, back = has.pending.to[:_SHORT], (has.pending.before or "nothing")[:_SHORT]
        told.append(f"  ~ release {to} was on trial: the next start or apply goes back to {back} first")
    return told


def _load(load: Mapping[str, float]) -> str:
    words = {"tok_s": "{:.1f} tok/s", "running": "{:.0f} running", "queue": "{:.0f} waiting"}
    told = [form.format(load[key]) for key, form in words.items() if key in load]
    return ", ".join([*told, *([f"KV {load['kv_use']:.0%} full"] if "kv_use" in load else [])])


def _newest(node: str, name: str, marks: Sequence[Mark]) -> list[str]:
    """The mark that was seen last on this node for this deployment."""
    seen = [(one.at, mark) for mark in marks if mark.name == name for one in mark.sightings if one.node == node]
    if not seen:
        return []
    at, mark = max(seen, key=lambda one: one[0])
    return [f"  last mark: {mark.id} ({at[:10]}{', retired' if mark.retired else ''})"]


def history(told: Mapping[str, Mapping[str, Any]]) -> str:
    """Each node's history, the newest last, and the releases it keeps."""
    lines = []
    for node, answer in told.items():
        current = answer.get("current")
        kept = [f"{one[:_SHORT]}{' (current)' if one == current else ''}" for one in answer.get("releases") or ()]
        lines.append(f"{node}  keeps {', '.join(kept) or 'no release'}")
        lines += [f"  {_entry(entry)}" for entry in answer.get("history") or ()]
    return "\n".join(lines) + "\n"


def _entry(entry: Mapping[str, Any]) -> str:
    words = [str(entry.get("at", "")), str(entry.get("verb", "")), str(entry.get("to") or "")[:_SHORT]]
    if entry.get("what"):
        words.append(", ".join(map(str, entry["what"])))
    if entry.get("seconds") is not None:
        words.append(f"ready after {entry['seconds']} s")
    if entry.get("why"):
        words.append(f"({entry['why']})")
    if entry.get("who"):
        words.append(f"by {entry['who']}")
    return "  ".join(word for word in words if word)
