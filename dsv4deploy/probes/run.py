"""Runs cases one after another, each in processes of its own, and makes the document of what they did."""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timezone
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from dsv4deploy.probes import machine
from dsv4deploy.probes.capture import usable
from dsv4deploy.probes.case import Ask, Case, Here
from dsv4deploy.probes.chain import root
from dsv4deploy.probes.child import Tell, Told, cause, left, together

# Memory of an ended process goes back to the card a moment later.
_SETTLE_S = 15.0
_SLACK_MIB = 64
_LOG_KEPT = 4000
_COUNTS = {1: "a GPU", 2: "two GPUs", 3: "three GPUs"}


def run(cases: Sequence[Case], ask: Ask, say: Callable[[str], None]) -> dict[str, Any]:
    """Every case in turn; `say` gets a line for each.

    Returns:
        a document of schema `probe/1`.
    """
    began = time.monotonic()
    now = datetime.now(timezone.utc).isoformat(timespec="seconds")
    stack = machine.stack()
    if ask.device == "cuda":
        _import()
    imported = round(time.monotonic() - began, 2)
    results = []
    for case in cases:
        results.append(_result(case, ask, machine.visible(len(stack["gpus"]), os.environ.get("CUDA_VISIBLE_DEVICES"))))
        say(_line(results[-1]))
    return {
        "schema": "probe/1",
        "at": now,
        "device": ask.device,
        "fault": ask.fault,
        "stack": stack,
        "import_s": imported,
        "seconds": round(time.monotonic() - began, 1),
        "results": results,
    }


def _import() -> None:
    """Import what compiles, once for all forked processes; none of it touches a card."""
    for name in ("torch._dynamo", "torch._inductor.config", "dsv4deploy.probes.kernels"):
        with suppress(ImportError):
            import_module(name)


def _result(case: Case, ask: Ask, cards: int) -> dict[str, Any]:
    about = {"name": case.name, "sentence": case.sentence, "rules": list(case.rules), "remedy": case.remedy}
    devices = ask.ranks or (cards if ask.device == "cuda" else 2)
    world = case.world(devices)
    if missing := _missing(case, ask, cards, world):
        return {**about, "outcome": "unknown", "because": missing, "seconds": 0.0, "ranks": world}
    folder = tempfile.mkdtemp(prefix="dsv4deploy-probe-")
    before = machine.memory_used_mib()
    try:
        told, log = _told(case, ask, world, folder)
        remain = left(told, f"{folder}/log")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    first = cause(told)
    found = {
        **about,
        "outcome": first.outcome or "hangs",
        "because": first.because if first.outcome else _where(told, ask.limit_s or case.limit_s),
        "phase": first.phase,
        "seconds": max(one.seconds for one in told),
        "ranks": world,
        "figures": told[0].figures,
        "root": root(first.chain),
        "chain": first.chain,
        "left": {"processes": remain, "cards_mib": _kept(before)},
    }
    if world > 1:
        found["transport"] = sorted(set(re.findall(r"\bvia (\S+)", log)))
    if found["outcome"] not in {"ok", "unknown"}:
        found["log"] = log[-_LOG_KEPT:]
    return found


def _missing(case: Case, ask: Ask, cards: int, world: int) -> str:
    """What the case needs and the machine has not."""
    if ask.device != "cuda":
        return "needs a GPU" if case.only_cuda else ""
    wanted = max(world, case.least)
    return "" if cards >= wanted else f"needs {_COUNTS.get(wanted, f'{wanted} GPUs')}"


def _told(case: Case, ask: Ask, world: int, folder: str) -> tuple[list[Told], str]:
    ranks = [Here(ask, rank, world, f"{folder}/meeting") for rank in range(world)]
    work = [partial(_rank, case, here, folder) for here in ranks]
    log = f"{folder}/log"
    told = together(work, ask.limit_s or case.limit_s, log)
    text = Path(log).read_text(errors="replace") if Path(log).exists() else ""
    return told, text


def _rank(case: Case, here: Here, folder: str, tell: Tell) -> None:
    """One process of the case, with caches of its own, so that everything is compiled anew."""
    os.environ.update(case.environment)
    os.environ["TORCHINDUCTOR_CACHE_DIR"] = f"{folder}/inductor-{here.rank}"
    os.environ["TRITON_CACHE_DIR"] = f"{folder}/triton-{here.rank}"
    here = replace(here, tell=tell)
    on_card = here.ask.device == "cuda"
    if on_card:
        here.enter("context")
        _context(here)
    try:
        case.run(here)
    finally:
        if on_card and here.world == 1:
            usable(here)


def _context(here: Here) -> None:
    import torch

    began = time.monotonic()
    torch.zeros(1, device=here.device)
    here.note(context_s=round(time.monotonic() - began, 2))


def _where(told: Sequence[Told], limit_s: float) -> str:
    phases = ", ".join(f"rank {rank} in {one.phase}" for rank, one in enumerate(told) if not one.outcome)
    return f"not over after {limit_s:g} s: {phases}"


def _kept(before: Sequence[int]) -> list[int]:
    """MiB that a card has more in use than before, once the driver had time to take them back."""
    end = time.monotonic() + _SETTLE_S
    while True:
        kept = [now - then for now, then in zip(machine.memory_used_mib(), before, strict=False)]
        if all(one <= _SLACK_MIB for one in kept) or time.monotonic() > end:
            return [max(0, one) for one in kept]
        time.sleep(0.2)


def _line(result: dict[str, Any]) -> str:
    cause = result.get("root") or {}
    said = " ".join(cause.get("cuda", [])) or cause.get("message", "") or result.get("because", "")
    return f"{result['outcome']:8} {result['seconds']:7.2f} s  {result['name']:34} {said[:120]}".rstrip()
