"""Lets the SGLang of the running Python read argument words, and resolve them as if it stood before given GPUs.

Its text is run by the engine's own interpreter: one JSON question on standard input, one JSON answer on standard output.
No GPU is touched: what the engine asks about the cards is answered from the question.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import importlib
import io
import json
import os
import sys
import traceback
import types
from typing import Any

# What the engine raises on purpose when it refuses a combination.
REFUSALS = (ValueError, AssertionError, NotImplementedError)
PHASES = ("decode", "prefill")


def answer(question: dict[str, Any]) -> dict[str, Any]:
    """What the engine makes of `words`, on `gpu` if one is given."""
    if question["gpu"]:
        pretend(question["gpu"])
    try:
        version = importlib.import_module("sglang").__version__
        server_args = importlib.import_module("sglang.srt.server_args").ServerArgs
        parser = argparse.ArgumentParser(prog="sglang")
        server_args.add_cli_args(parser)
    except Exception as problem:  # noqa: BLE001 (an installation can be broken in any way)
        return {"unable": told(problem)}
    namespace, refused = parsed(parser, question["words"])
    if namespace is None:
        return {"version": version, "refused": refused}
    found = {"version": version, "parsed": values(server_args, namespace)}
    return {**found, **resolved(server_args, namespace)} if question["gpu"] else found


def parsed(parser: argparse.ArgumentParser, words: list[str]) -> tuple[argparse.Namespace | None, str]:
    """The namespace, or None and the parser's complaint."""
    complaint = io.StringIO()
    try:
        with contextlib.redirect_stderr(complaint):
            return parser.parse_args(words), ""
    except SystemExit:
        lines = complaint.getvalue().strip().splitlines()
        return None, lines[-1].partition("error: ")[2] or lines[-1] if lines else "it ended"
    except Exception as problem:  # noqa: BLE001 (an action of the engine may raise anything)
        return None, told(problem)


def values(server_args: Any, namespace: argparse.Namespace) -> Any:  # noqa: ANN401 (the engine's own class)
    """What was parsed, by the engine's field names: it copies some arguments to fields of another name."""
    copy = argparse.Namespace(**vars(namespace))
    # Only the copying is wanted: a class of no fields ends what follows it.
    with contextlib.suppress(Exception):
        server_args.from_cli_args.__func__(types.SimpleNamespace, copy)
    return plain(vars(copy))


def resolved(server_args: Any, namespace: argparse.Namespace) -> dict[str, Any]:  # noqa: ANN401 (likewise)
    """The settings that the engine ends up with, or why there are none."""
    try:
        args = server_args.from_cli_args(namespace)
        for step in ("resolve_once", "check_server_args"):
            getattr(args, step, bool)()
        fields = plain(args.resolved_dict() if hasattr(args, "resolved_dict") else vars(args))
        return {"resolved": {**fields, **graphs(fields.get("cuda_graph_config"))}}
    except REFUSALS as problem:
        place = traceback.extract_tb(problem.__traceback__)[-1].filename
        own = os.sep + "sglang" + os.sep in place
        return {"refused": told(problem)} if own else {"unresolved": told(problem)}
    except (Exception, SystemExit) as problem:  # noqa: BLE001 (whatever comes of a GPU that is not there)
        return {"unresolved": told(problem)}


def graphs(config: Any) -> dict[str, Any]:  # noqa: ANN401 (whatever that version holds)
    """The graph settings of each phase, by the names of their arguments."""
    found = {}
    for phase in PHASES:
        part = config.get(phase) if isinstance(config, dict) else None
        for key in ("backend", "max_bs"):
            value = part.get(key) if isinstance(part, dict) else None
            if value is not None:
                found[f"cuda_graph_{key}_{phase}"] = value
    return found


def pretend(gpu: dict[str, Any]) -> None:
    """Answer for the cards, so that the engine decides as it would before them."""
    torch = importlib.import_module("torch")
    size, capability = gpu["memory_mib"] << 20, (gpu["major"], gpu["minor"])
    card = types.SimpleNamespace(
        name=gpu["name"], major=gpu["major"], minor=gpu["minor"], total_memory=size, multi_processor_count=128
    )
    answers = {
        "is_available": True,
        "is_initialized": False,
        "device_count": gpu["count"],
        "current_device": 0,
        "get_device_capability": capability,
        "get_device_name": gpu["name"],
        "get_device_properties": card,
        "mem_get_info": (size, size),
        "get_arch_list": [f"sm_{gpu['major']}{gpu['minor']}"],
    }
    for name, value in answers.items():
        setattr(torch.cuda, name, lambda *_, value=value, **__: value)
    torch.version.cuda = torch.version.cuda or "13.0"
    # The cards of this machine, if it has any, are others.
    torch.cuda._get_nvml_device_index = None  # noqa: SLF001 (the engine itself asks it by this name)
    common: Any = importlib.import_module("sglang.srt.utils.common")
    common.get_nvgpu_memory_capacity = lambda: float(gpu["memory_mib"])


def plain(value: Any) -> Any:  # noqa: ANN401 (the engine's values are of any kind)
    """`value` as JSON has it; anything else as its name."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return plain(vars(value))
    if isinstance(value, dict):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [plain(each) for each in value]
    return {"object": getattr(value, "__name__", type(value).__name__)}


def told(problem: BaseException) -> str:
    """An exception in one line."""
    return " ".join((f"{type(problem).__name__}: {problem}").split())


def main() -> None:
    """Answer one question; what the engine prints goes to standard error."""
    own = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    question = json.loads(sys.stdin.read())
    try:
        found = answer(question)
    except BaseException as problem:  # noqa: BLE001 (the asker is always told)
        found = {"unable": told(problem)}
    with own:
        json.dump(found, own)
    # Threads of the engine's libraries do not keep the asker waiting.
    sys.stderr.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
