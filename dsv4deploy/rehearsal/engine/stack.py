"""The pretended stack: which cards and which model, what SGLang makes of the settings, and numbers that fit together.

All sizes are GiB, as in the log of the engine.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Dict

from .record import RECORD, Value

Settings = Dict[str, Value]
# What the card keeps for driver and context, of a 96 GB card; the log then says 94 GB of 95.6.
_CONTEXT = 0.6
_NCCL = 0.4


class Stack:
    """One launch on the pretended machine.

    Attributes:
        settings: the settings by dest, as SGLang resolves them.
        traits: what is true of this launch (`dsv4`, `cuda`, `decode_graph`, ...), for `when` in lines and rules.
        numbers: what the log lines quote, by the name in their braces.
    """

    def __init__(self, arguments: argparse.Namespace, world: dict[str, Value] | None = None) -> None:
        changes = world or {}
        self.world: dict[str, Value] = {**RECORD["world"], **changes}
        first = ("model_path", "tokenizer_path", "served_model_name")
        written = vars(arguments)
        self.settings: Settings = {name: written[name] for name in (*first, *written)}
        folder = _written_model(self.settings["model_path"])
        self.model: dict[str, Value] = {**RECORD["world"]["model"], **changes.get("model", {}), **folder}
        self.cuda = self.settings.get("device") in (None, "cuda")
        self.traits = self._traits()
        self._resolve()
        self.numbers = self._numbers()

    def get(self, key: str) -> Value:
        """A setting by dest, `arch` or `gpus` of the world, `model.KEY`, or `number.KEY`."""
        if key.startswith("model."):
            return self.model.get(key[len("model.") :])
        if key.startswith("number."):
            return self.numbers[key[len("number.") :]]
        return self.world.get(key) if key in ("arch", "gpus") else self.settings.get(key)

    @property
    def ranks(self) -> int:
        """How many scheduler processes run on this node."""
        return self.world_size // int(self.settings.get("nnodes") or 1)

    @property
    def world_size(self) -> int:
        """How many scheduler processes run on all nodes."""
        return int(self.settings.get("tp_size") or 1) * int(self.settings.get("pp_size") or 1)

    def prefix(self, rank: int) -> str:
        """What a rank puts behind the time (` TP0`, ` TP0 EP0`); empty where there is only one."""
        rank += int(self.settings.get("node_rank") or 0) * self.ranks
        name = f" TP{rank}" if self.settings.get("tp_size", 1) > 1 else ""
        return name + (f" EP{rank}" if self.settings.get("ep_size", 1) > 1 else "")

    def _traits(self) -> set[str]:
        settings, architecture = self.settings, self.model["architecture"]
        traits = {"cuda" if self.cuda else "cpu"}
        for trait, holds in (
            ("dsv4", architecture.startswith("DeepseekV4")),
            ("dsv3", architecture.startswith("DeepseekV3")),
            ("compile", settings.get("enable_torch_compile")),
            ("dummy", settings.get("load_format") == "dummy"),
            ("several", self.ranks > 1),
            ("radix", not settings.get("disable_radix_cache")),
            ("no_piecewise_by_flag", settings.get("disable_piecewise_cuda_graph")),
            ("autotune", self.cuda and not settings.get("disable_flashinfer_autotune")),
            ("warmup", not settings.get("skip_server_warmup")),
            ("metrics", settings.get("enable_metrics")),
            ("no_model_folder", not Path(settings["model_path"]).is_dir()),
        ):
            if holds:
                traits.add(trait)
        traits |= {phase + "_graph" for phase in ("decode", "prefill") if self._graph(phase, "dsv4" in traits)}
        return traits

    def _graph(self, phase: str, dsv4: bool) -> bool:
        """Whether CUDA graphs of `phase` take effect: JSON, then backend, then the disabling flags, then the default."""
        settings = self.settings
        if not self.cuda:
            return False
        config = (settings.get("cuda_graph_config") or {}).get(phase) or {}
        backend = config.get("backend") or settings.get("cuda_graph_backend_" + phase)
        if backend:
            return bool(backend != "disabled")
        disabling = ["disable_cuda_graph", f"disable_{phase}_cuda_graph"]
        if phase == "prefill":
            disabling.append("disable_piecewise_cuda_graph")
            if dsv4 or not RECORD["behaviour"]["prefill_graph_default"]:
                return False
        return not any(settings.get(name) for name in disabling)

    def _resolve(self) -> None:
        """Write what SGLang decides by itself into the settings, as far as anybody reads it back."""
        settings = self.settings
        _default(settings, "tokenizer_path", settings["model_path"])
        _default(settings, "served_model_name", settings["model_path"])
        _default(settings, "device", "cuda" if self.cuda else "cpu")
        _default(settings, "chunked_prefill_size", 8192 if self.cuda else 4096)
        _default(settings, "mem_fraction_static", 0.848)
        if "dsv4" in self.traits:
            for name, value in (("attention_backend", "dsv4"), ("page_size", 256)):
                settings[name] = value
            _default(settings, "max_running_requests", 256)
            _default(settings, "swa_full_tokens_ratio", 0.1)
            if settings.get("kv_cache_dtype") == "auto":
                settings["kv_cache_dtype"] = "fp8_e4m3"
        if settings.get("moe_runner_backend") == "auto":
            settings["moe_runner_backend"] = self._runner()
        self.batches = self._batches()

    def _runner(self) -> str:
        """What `--moe-runner-backend auto` becomes for DeepSeek-V4 on sm_120; elsewhere it stays."""
        if "dsv4" not in self.traits or self.world["arch"] != "sm_120":
            return "auto"
        by_experts: dict[str, str] = RECORD["behaviour"]["moe_runner_auto"]
        return by_experts.get(str(self.model.get("experts")), "auto")

    def _batches(self) -> list[int]:
        settings = self.settings
        given = settings.get("cuda_graph_bs_decode") or settings.get("cuda_graph_bs")
        if given:
            return sorted(int(size) for size in given)
        most = settings.get("cuda_graph_max_bs_decode") or settings.get("cuda_graph_max_bs") or 512
        sizes = [1, 2, 4, *range(8, 257, 8), *range(272, 513, 16), *range(544, 4097, 32)]
        return [size for size in sizes if size <= int(most)]

    def _numbers(self) -> dict[str, Value]:
        settings, model = self.settings, self.model
        total = float(self.world["gpu_memory_gib"])
        fresh = total - _CONTEXT - (_NCCL if self.ranks > 1 else 0.0)
        weights = float(model["weights_gib"]) / max(self.world_size, 1)
        loaded = fresh - weights
        pool = loaded - fresh * (1 - float(settings["mem_fraction_static"]))
        fits = max(int(pool * 2**30 / float(model["kv_bytes_per_token"])), 0)
        tokens = min(fits, int(settings.get("max_total_tokens") or fits)) // 256 * 256
        used = tokens * float(model["kv_bytes_per_token"]) / 2**30
        after = loaded - used
        return {
            "architecture": model["architecture"],
            "quant": model.get("quant") or "",
            "fresh": fresh,
            "weights": weights,
            "loaded": loaded,
            "room": pool,
            "tokens": tokens,
            "swa": max(int(tokens * float(settings.get("swa_full_tokens_ratio") or 0.8)) // 256 * 256, 256),
            "c4": tokens // 4,
            "c128": tokens // 128,
            "kv": used,
            "half_kv": used / 2,
            "pooled": after,
            "captured": after - 0.04 * len(self.batches),
            "batches": self.batches,
            "context": settings.get("context_length") or model["context_length"],
            "shards": model["shards"],
            "head_remainder": int(model.get("num_attention_heads") or 0) % max(int(settings.get("tp_size") or 1), 1),
            "token_bytes": float(model["kv_bytes_per_token"]),
            "used_at_init": 0.09 if self.cuda else 0.0,
            "load_seconds": 0.6,
            "capture_seconds": 0.6 if "decode_graph" in self.traits else 0.0,
            "graph_memory": 0.04 * len(self.batches),
            "kv_dtype": "torch.float8_e4m3fn" if "fp8" in str(settings.get("kv_cache_dtype")) else "torch.bfloat16",
            "prefill_backend": settings.get("cuda_graph_backend_prefill") or "breakable",
            "chunk": settings["chunked_prefill_size"],
            "max_running": settings.get("max_running_requests") or (4096 if self.cuda else 2048),
            "memory_word": "available_gpu_mem" if self.cuda else "available_cpu_mem",
            "swa_word": "dsv4" in self.traits,
            "graph_word": "cuda graph" if self.cuda else "cpu graph",
            "decode_graph": "decode_graph" in self.traits,
            "cache": "~/.cache/sglang/flashinfer_autotune.json",
        }


def _default(settings: Settings, name: str, value: Value) -> None:
    if settings.get(name) is None:
        settings[name] = value


def _written_model(path: str) -> dict[str, Value]:
    """What a model folder on this machine says of itself; empty where there is none."""
    config = Path(path) / "config.json"
    if not config.is_file():
        return {}
    written = json.loads(config.read_text(encoding="utf-8"))
    weights = sorted(Path(path).glob("*.safetensors"))
    found = {
        "architecture": (written.get("architectures") or [None])[0],
        "model_type": written.get("model_type"),
        "context_length": written.get("max_position_embeddings"),
        "num_attention_heads": written.get("num_attention_heads"),
        "n_routed_experts": written.get("n_routed_experts"),
        "weights_gib": sum(file.stat().st_size for file in weights) / 2**30 if weights else 0.05,
        "shards": max(len(weights), 1),
    }
    return {key: value for key, value in found.items() if value is not None}
