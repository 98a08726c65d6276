"""The stages of a start and the lines at which each begins, for SGLang 0.5.6 to 0.5.23."""

from __future__ import annotations

import re

STAGES = ("args", "init", "load", "pool", "capture", "warmup", "serve")
ORDER = {stage: number for number, stage in enumerate(STAGES)}
READY = "The server is fired up and ready to roll!"
START = "server_args="
# systemd begins a start earlier than the engine can say so.
UNIT_STARTED = re.compile(r"Started \S+\.service\b")

# (text that must be there, regex or None, stage, whether it speaks for all ranks). Wordings by version: 0.5.14 renamed
# the capture lines, 0.5.21 the distributed ones.
MARKS = (
    (START, None, "init", True),
    ("Load weight begin", None, "load", False),
    ("Load weight end", None, "pool", False),
    (" graph begin", re.compile(r"Capture (?:[\w-]+ ){0,4}(?:cuda|CUDA) graph begin"), "capture", False),
    ("Started server process [", None, "warmup", True),
    (READY, None, "serve", True),
)
# A log that was cut at its head tells its stage by these; they only ever move a start forward.
HINTS = (
    ("Init torch distributed begin", "init"),
    ("Init parallel begin", "init"),
    ("Init nccl begin", "init"),
    ("Loading safetensors checkpoint shards", "load"),
    ("Multi-thread loading shards", "load"),
    ("Memory pool end.", "pool"),
    ("Capturing batches (bs=", "capture"),
    ("Capturing num tokens (num_tokens=", "capture"),
    ("Uvicorn running on", "warmup"),
)
# A rank that has begun to join the others, and one that has joined.
JOINING = re.compile(r"Init (?:torch distributed|parallel|nccl) (?P<what>begin|end)")
JOINED = ("Init torch distributed end", "Init parallel end", "Init nccl end")
# Lines of a server that serves, when nothing before them was kept.
SERVING = ("Decode batch", "Prefill batch", '"POST /v1/', "Health check failed", "the state was deleted in")
# What only other engines say.
OTHERS = (
    ("vLLM API server version", "vLLM"),
    ("EngineCore", "vLLM"),
    ("LLM engine (v", "vLLM"),
    ("text_generation_launcher", "text-generation-inference"),
    ("llama_model_load", "llama.cpp"),
)

_BAR = re.compile(
    r"(?P<what>Loading safetensors checkpoint shards|Multi-thread loading shards|Capturing batches|Capturing num tokens"
    r"|DeepGEMM warmup)[^\r\n]*?(?P<percent>\d+)%[^\r\n]*?(?P<done>\d+)/(?P<all>\d+)"
)
_WHAT = {
    "Loading safetensors checkpoint shards": "weights",
    "Multi-thread loading shards": "weights",
    "Capturing batches": "captured batches",
    "Capturing num tokens": "captured prefill sizes",
    "DeepGEMM warmup": "kernel warm-up",
}


def progress(tail: str) -> dict[str, object] | None:
    """The newest progress bar in the last characters of a log: what, percent, done and all; None without one."""
    newest = None
    for newest in _BAR.finditer(tail):  # noqa: B007 (the last one counts)
        pass
    if newest is None:
        return None
    done, everything = int(newest.group("done")), int(newest.group("all"))
    return {
        "what": _WHAT[newest.group("what")],
        "percent": int(newest.group("percent")),
        "done": done,
        "all": everything,
    }
