"""Asks the SGLang that is installed beside a Python: in a process of its own, without GPUs, network or a server."""

import json
import os
import signal
import subprocess
from importlib.resources import files
from pathlib import Path

from dsv4deploy.model.engine_answer import EngineAnswer, EngineQuestion

PATIENCE_S = 180.0  # a cold disk needs a minute and more for torch
KEPT = ("PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "LD_LIBRARY_PATH", "HF_HOME", "XDG_CACHE_HOME", "CUDA_HOME")
ALONE = {"CUDA_VISIBLE_DEVICES": "", "HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "0"}


def ask(python: Path, question: EngineQuestion, patience_s: float = PATIENCE_S) -> EngineAnswer:
    """The answer of the engine in the environment of `python`; whatever goes wrong is an answer too."""
    text = (files("dsv4deploy.node") / "engine_verdict.py").read_text(encoding="utf-8")
    environment = {name: os.environ[name] for name in KEPT if name in os.environ}
    try:
        # Not resolved: behind the link lies a Python that knows nothing of the virtual environment.
        process = subprocess.Popen(
            [python.absolute(), "-I", "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env={**environment, **question.environment, **ALONE},
            start_new_session=True,
        )
    except OSError as problem:
        return EngineAnswer(unable=f"{python}: {problem.strerror}")
    try:
        told, complaint = process.communicate(json.dumps(question.as_object()).encode(), timeout=patience_s)
    except subprocess.TimeoutExpired:
        return EngineAnswer(unable=f"no answer within {patience_s:g} s")
    finally:
        _end(process)
    try:
        return EngineAnswer(**json.loads(told))
    except (ValueError, TypeError):
        last = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        return EngineAnswer(unable=last or f"it ended with code {process.returncode} and no answer")


def _end(process: subprocess.Popen[bytes]) -> None:
    """End it and whatever it started."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        return
    process.communicate()
