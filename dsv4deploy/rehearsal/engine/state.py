"""What the endpoints and the leader share, and what `/server_info`, `/v1/models` and `/metrics` say of it."""

from __future__ import annotations

import time

from .record import RECORD, Value
from .stack import Stack

_REDACTED = "<redacted>"


class State:
    """One server: where it listens, whether it is ready, what it is doing."""

    def __init__(self, stack: Stack, argv: list[str]) -> None:
        settings = stack.settings
        self.stack = stack
        self.argv = argv
        self.host = str(settings["host"])
        self.port = int(settings["port"])
        self.api_key: str | None = settings.get("api_key")
        self.model = str(settings["served_model_name"])
        self.ready = False
        self.unhealthy = False
        self.draining = False
        self.running: dict[str, float] = {}
        self.answered = 0
        self.generated = 0

    def shown_settings(self) -> dict[str, Value]:
        """The resolved settings as anybody may read them; older engines show keys, a rehearsal never does."""
        return {
            name: _REDACTED if value and name.endswith("api_key") else value
            for name, value in self.stack.settings.items()
        }

    def server_info(self) -> dict[str, Value]:
        """The resolved settings and the state of the scheduler; says that it is a rehearsal."""
        numbers, command = self.stack.numbers, " ".join(self.argv)
        for name in ("api_key", "admin_api_key"):
            command = command.replace(self.stack.settings.get(name) or _REDACTED, _REDACTED)
        memory = {"weight": numbers["weights"], "kvcache": numbers["kv"]}
        inner = {"last_gen_throughput": 0.0, "memory_usage": memory}
        return {
            **self.shown_settings(),
            "rehearsal": True,
            "max_total_num_tokens": numbers["tokens"],
            "internal_states": [inner],
            "launch_command": command,
            "version": RECORD["version"],
        }

    def model_info(self) -> dict[str, Value]:
        """What the model is."""
        settings = self.stack.settings
        info = {key: settings.get(key) for key in ("model_path", "tokenizer_path", "preferred_sampling_params")}
        return {**info, "is_generation": True, "weight_version": settings.get("weight_version", "default")}

    def models(self) -> dict[str, Value]:
        """The one model, as a list."""
        card = {
            "id": self.model,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": self.model,
            "parent": None,
            "max_model_len": self.stack.numbers["context"],
        }
        return {"object": "list", "data": [card]}

    def metrics(self) -> str:
        """The few metrics that gates ask for, in the text format of Prometheus."""
        values = {
            "num_running_reqs": len(self.running),
            "num_queue_reqs": 0,
            "token_usage": 0.0,
            "gen_throughput": 0.0,
            "max_total_num_tokens": self.stack.numbers["tokens"],
            "num_requests_total": self.answered,
            "generation_tokens_total": self.generated,
        }
        lines = ["# This is a rehearsal."]
        for name, value in values.items():
            kind = "counter" if name.endswith("_total") else "gauge"
            lines += [f"# TYPE sglang:{name} {kind}", f'sglang:{name}{{model_name="{self.model}"}} {value}']
        return "\n".join(lines) + "\n"
