"""Whether the cards are sound and are ours: memory errors, driver faults, throttling, processes, memory."""

from __future__ import annotations

import re
import shutil
import subprocess
from typing import Any

from dsv4deploy.node.checks.target import Finding, Target
from dsv4deploy.node.tail import kernel_lines

FIELDS = (
    "index", "uuid", "memory.used", "memory.total", "ecc.errors.uncorrected.volatile.total", "remapped_rows.pending",
    "clocks_throttle_reasons.hw_slowdown", "clocks_throttle_reasons.hw_thermal_slowdown",
    "clocks_throttle_reasons.hw_power_brake_slowdown", "utilization.gpu", "power.draw",
)  # fmt: skip
_XID = re.compile(r"NVRM: Xid \((?P<bus>[^)]*)\): (?P<number>\d+)")
# These speak of the program and not of the card: a kernel that faulted, a graphics engine that was reset.
_OF_THE_PROGRAM = {13, 31, 43, 45}
_IDLE_MIB = 2048
# Cards of one server hold the same to within this; more means that something else lies on one of them.
_SPREAD = 0.1
_STEP_S = 30


def check(target: Target) -> Finding:
    """Ask `nvidia-smi` and the kernel's log, and judge."""
    if target.request.get("rehearsal"):
        return Finding("skipped", "a rehearsal has no cards")
    if target.request.get("pids") is None:
        return Finding("skipped", "cards are looked at on their node: use -i")
    cards = _smi(f"--query-gpu={','.join(FIELDS)}")
    if cards is None:
        return Finding("unknown", "nvidia-smi does not answer")
    users = _smi("--query-compute-apps=gpu_uuid,pid,used_memory") or ""
    kernel = kernel_lines(float(target.request.get("started") or 0))
    target.cards = memory(_ours(parsed(cards), target.request))
    return judge(parsed(cards), processes(users), kernel, target.request)


def judge(
    cards: list[dict[str, str]], users: list[tuple[str, int, float]], kernel: list[str], request: dict[str, Any]
) -> Finding:
    """Bad if a card of ours has an error, a fault, a brake on it, a stranger on it, or memory that nobody owns."""
    ours = _ours(cards, request)
    pids = set(request["pids"])
    # In a container the driver names no processes: then nobody can say that a card's memory belongs to none.
    told_of_us = any(pid in pids for _, pid, _ in users)
    wrong = [told for card in ours for told in (*_errors(card), *_occupied(card, users, pids))]
    wrong += [told for card in ours if told_of_us for told in _wedged(card, users)]
    wrong += [f"the driver reported Xid {xid} on {bus}" for bus, xid in faults(kernel)]
    wrong += _spread(ours) if users else []
    if wrong:
        return Finding("bad", wrong[0], tuple(wrong))
    used = [number(card["memory.used"]) or 0 for card in ours]
    return Finding(
        "good", f"{len(ours)} cards are sound, {min(used, default=0):.0f} to {max(used, default=0):.0f} MiB in use"
    )


def parsed(text: str) -> list[dict[str, str]]:
    """The rows of a query by field; what a card does not tell is `[N/A]`."""
    rows = ([word.strip() for word in line.split(",")] for line in text.splitlines())
    return [dict(zip(FIELDS, row)) for row in rows if len(row) == len(FIELDS)]


def memory(cards: list[dict[str, str]]) -> list[dict[str, float]]:
    """Index, used and total MiB of every card that tells them."""
    found = ((card["index"], number(card["memory.used"]), number(card["memory.total"])) for card in cards)
    return [{"index": int(index), "used_mib": used, "total_mib": all_} for index, used, all_ in found if used and all_]


def processes(text: str) -> list[tuple[str, int, float]]:
    """Card, process and MiB of everything that computes."""
    found = re.findall(r"^(\S+), *(\d+), *(.*)$", text, re.MULTILINE)
    return [(uuid, int(pid), number(used) or 0.0) for uuid, pid, used in found]


def faults(kernel: list[str]) -> list[tuple[str, int]]:
    """The driver's faults that speak of a card, in the kernel's log."""
    found = ((match["bus"], int(match["number"])) for line in kernel for match in [_XID.search(line)] if match)
    return [(bus, one) for bus, one in found if one not in _OF_THE_PROGRAM]


def number(text: str) -> float | None:
    """A number with or without its unit; None for `[N/A]`."""
    found = re.match(r"[\d.]+", text)
    return float(found[0]) if found else None


def _errors(card: dict[str, str]) -> list[str]:
    told = []
    if number(card["ecc.errors.uncorrected.volatile.total"]):
        told.append(
            f"card {card['index']} has {card['ecc.errors.uncorrected.volatile.total']} uncorrected memory errors"
        )
    if card["remapped_rows.pending"] in {"1", "Yes"}:
        told.append(f"card {card['index']} waits for a reset to remap broken memory")
    told += [
        f"card {card['index']} is slowed down ({field.rpartition('.')[2]})"
        for field in FIELDS
        if "throttle" in field and card[field] == "Active"
    ]
    return told


def _occupied(card: dict[str, str], users: list[tuple[str, int, float]], pids: set[int]) -> list[str]:
    here = [pid for uuid, pid, _ in users if uuid == card["uuid"]]
    strangers = [pid for pid in here if pid not in pids]
    told = [f"process {pid} computes on card {card['index']} and is not ours" for pid in strangers]
    if len(here) - len(strangers) > 1:
        told.append(f"{len(here) - len(strangers)} processes of ours are on card {card['index']}, one is expected")
    return told


def _wedged(card: dict[str, str], users: list[tuple[str, int, float]]) -> list[str]:
    if any(uuid == card["uuid"] for uuid, _, _ in users) or (number(card["memory.used"]) or 0) <= _IDLE_MIB:
        return []
    return [f"card {card['index']} is wedged: {card['memory.used']} MiB are in use by no process"]


def _spread(cards: list[dict[str, str]]) -> list[str]:
    """Whether all cards hold the same."""
    used = {card["index"]: number(card["memory.used"]) or 0.0 for card in cards}
    least, most = min(used.values(), default=0.0), max(used.values(), default=0.0)
    if most - least <= _SPREAD * most:
        return []
    index = max(used, key=lambda one: used[one])
    return [f"card {index} holds {most:.0f} MiB and another one {least:.0f} MiB: something else lies on it"]


def _ours(cards: list[dict[str, str]], request: dict[str, Any]) -> list[dict[str, str]]:
    devices = request.get("devices")
    return [card for card in cards if not devices or int(card["index"]) in devices]


def _smi(query: str) -> str | None:
    if shutil.which("nvidia-smi") is None:
        return None
    try:
        words = ["nvidia-smi", query, "--format=csv,noheader,nounits"]
        done = subprocess.run(words, capture_output=True, text=True, timeout=_STEP_S, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None
