"""Serves what clients and judges ask: health, model and server information, metrics, completions."""

from __future__ import annotations

import http.client
import json
import os
import socket
import threading
import time
import uuid
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from . import log
from .record import RECORD, Value, behaves
from .scheduler import Scheduler
from .stack import Stack

_ANY = "0.0.0.0"  # noqa: S104 (compared, not bound)
# Where a server listens that listens everywhere.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (looked up, not bound)
_OPEN = ("/health", "/ready", "/metrics")
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable"}


class State:
    """What the endpoints and the leader share."""

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

    def server_info(self) -> dict[str, Value]:
        """The settings as they were resolved, and the state of the scheduler; says that it is a rehearsal."""
        hidden = {key: value for key, value in self.stack.settings.items() if "api_key" not in key}
        memory = {"weight": self.stack.numbers["weights"], "kvcache": self.stack.numbers["kv"]}
        inner = {"last_gen_throughput": 0.0, "memory_usage": memory, "effective_max_running_requests_per_dp": 256}
        return dict(
            hidden,
            rehearsal=True,
            max_total_num_tokens=self.stack.numbers["tokens"],
            internal_states=[inner],
            launch_command=" ".join(self.argv),
            version=RECORD["version"],
        )


class Server(ThreadingHTTPServer):
    """Binds its port when it is made.

    Raises:
        OSError: the port is taken.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, state: State, scheduler: Scheduler) -> None:
        self.state = state
        self.scheduler = scheduler
        if ":" in state.host:
            self.address_family = socket.AF_INET6
        super().__init__((state.host, state.port), _Handler)


def warm_up(state: State) -> None:
    """Do what SGLang's warm-up does: ask for the model, then generate eight tokens; blocks until answered."""
    for method, path, body in (
        ("GET", "/model_info", None),
        ("POST", "/generate", {"text": "The capital city of France is", "sampling_params": {"max_new_tokens": 8}}),
        *([("POST", "/freeze_gc", {})] if behaves("freezes_gc") else []),
    ):
        connection = http.client.HTTPConnection(_EVERYWHERE.get(state.host, state.host), state.port)
        headers = {"Authorization": f"Bearer {state.api_key}"} if state.api_key else {}
        connection.request(method, path, json.dumps(body) if body is not None else None, headers)
        connection.getresponse().read()
        connection.close()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def log_message(self, *_words: Value) -> None:
        """Nothing: the access line is written when the answer is."""

    def _answer(self, method: str) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        path = self.path.split("?", 1)[0]
        if self._refused(path):
            self._send(401, {"error": "Unauthorized"})
            return
        handler = _ROUTES.get((method, path.rstrip("/") or "/"))
        if handler is None:
            self._send(404, {"detail": "Not Found"})
            return
        try:
            code, content = handler(self, json.loads(body) if body else {})
        except (ValueError, TypeError, AttributeError) as error:
            code, content = 400, {"error": {"message": str(error), "type": "BadRequestError", "code": 400}}
        self._send(code, content)

    def _refused(self, path: str) -> bool:
        key = self.server.state.api_key
        return bool(key) and not path.startswith(_OPEN) and self.headers.get("Authorization") != f"Bearer {key}"

    def _send(self, code: int, content: Value) -> None:
        text = content if isinstance(content, str) else json.dumps(content)
        data = text.encode()
        host, port = self.client_address[:2]
        log.access(f'{host}:{port} - "{self.command} {self.path} HTTP/1.1" {code} {_REASONS[code]}')
        try:
            self.send_response_only(code)
            self.send_header("server", "uvicorn (rehearsal)")
            self.send_header("content-type", "application/json" if not isinstance(content, str) else "text/plain")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def health(self, _body: dict[str, Value]) -> tuple[int, str]:
        state = self.server.state
        if state.draining:
            log.line("Health check request received during shutdown. Returning 503.")
            return 503, ""
        if not state.ready:
            return 503, ""
        cheap = os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "1").lower() in ("0", "false", "no", "n")
        if cheap and self.path.split("?")[0] == "/health":
            return 200, ""
        return self._health_generate()

    def _health_generate(self) -> tuple[int, str]:
        state, start = self.server.state, time.time()
        timeout = float(os.environ.get("SGLANG_HEALTH_CHECK_TIMEOUT", "20"))
        log.pause(0.1)
        if self.server.scheduler.ask({"kind": "health", "prompt": 1, "new": 1}, timeout / log.SPEED) is not None:
            state.unhealthy = False
            return 200, ""
        state.unhealthy = True
        when = time.strftime("%H:%M:%S", time.localtime(start))
        log.line(
            f"Health check failed. Server couldn't get a response from detokenizer for last {timeout:.0f} seconds. "
            f"tic start time: {when}. last_heartbeat time: {when}"
        )
        return 503, ""

    def is_ready(self, _body: dict[str, Value]) -> tuple[int, Value]:
        state = self.server.state
        if not behaves("ready_endpoint"):
            return 404, {"detail": "Not Found"}
        return (200 if state.ready and not state.draining and not state.unhealthy else 503), ""

    def model_info(self, _body: dict[str, Value]) -> tuple[int, Value]:
        settings = self.server.state.stack.settings
        info = {key: settings.get(key) for key in ("model_path", "tokenizer_path", "preferred_sampling_params")}
        return 200, dict(info, is_generation=True, weight_version=settings.get("weight_version", "default"))

    def models(self, _body: dict[str, Value]) -> tuple[int, Value]:
        state = self.server.state
        card = {
            "id": state.model,
            "object": "model",
            "created": int(time.time()),
            "owned_by": "sglang",
            "root": state.model,
            "parent": None,
            "max_model_len": state.stack.numbers["context"],
        }
        return 200, {"object": "list", "data": [card]}

    def server_info(self, _body: dict[str, Value]) -> tuple[int, Value]:
        return 200, self.server.state.server_info()

    def metrics(self, _body: dict[str, Value]) -> tuple[int, Value]:
        state = self.server.state
        if "metrics" not in state.stack.traits:
            return 404, {"detail": "Not Found"}
        label = f'{{model_name="{state.model}"}}'
        values = {
            "num_running_reqs": len(state.running),
            "num_queue_reqs": 0,
            "token_usage": 0.0,
            "max_total_num_tokens": state.stack.numbers["tokens"],
            "num_requests_total": state.answered,
            "generation_tokens_total": state.generated,
        }
        lines = ["# This is a rehearsal."]
        for name, value in values.items():
            kind = "counter" if name.endswith("_total") and name != "max_total_num_tokens" else "gauge"
            lines += [f"# TYPE sglang:{name} {kind}", f"sglang:{name}{label} {value}"]
        return 200, "\n".join(lines) + "\n"

    def freeze_gc(self, _body: dict[str, Value]) -> tuple[int, Value]:
        return 200, "Garbage collection frozen.\n"

    def generate(self, body: dict[str, Value]) -> tuple[int, Value]:
        params = body.get("sampling_params") or {}
        rid, answer = self._ask(
            _text(body.get("text") or body.get("input_ids") or ""), params.get("max_new_tokens", 128)
        )
        meta = {
            "id": rid,
            "finish_reason": {"type": "length", "length": answer["tokens"]},
            "prompt_tokens": answer["prompt"],
            "completion_tokens": answer["tokens"],
            "cached_tokens": 0,
            "weight_version": "default",
        }
        return 200, {"text": answer["text"], "meta_info": meta}

    def completions(self, body: dict[str, Value]) -> tuple[int, Value]:
        rid, answer = self._ask(_text(body.get("prompt", "")), body.get("max_tokens") or 16)
        choice = {"index": 0, "text": answer["text"], "logprobs": None, "finish_reason": "length", "matched_stop": None}
        return 200, self._completion(rid, "text_completion", choice, answer)

    def chat(self, body: dict[str, Value]) -> tuple[int, Value]:
        prompt = " ".join(_text(message.get("content") or "") for message in body.get("messages", []))
        most = body.get("max_completion_tokens") or body.get("max_tokens") or 64
        rid, answer = self._ask(prompt, most)
        message = {
            "role": "assistant",
            "content": answer["text"].strip(),
            "reasoning_content": None,
            "tool_calls": None,
        }
        choice = {"index": 0, "message": message, "logprobs": None, "finish_reason": "length", "matched_stop": None}
        return 200, self._completion(rid, "chat.completion", choice, answer)

    def _completion(self, rid: str, kind: str, choice: dict[str, Value], answer: dict[str, Value]) -> dict[str, Value]:
        usage = {
            "prompt_tokens": answer["prompt"],
            "completion_tokens": answer["tokens"],
            "total_tokens": answer["prompt"] + answer["tokens"],
            "prompt_tokens_details": None,
        }
        base = {"id": rid, "object": kind, "created": int(time.time()), "model": self.server.state.model}
        return dict(base, choices=[choice], usage=usage, metadata={"weight_version": "default"})

    def _ask(self, prompt: str, new: Value) -> tuple[str, dict[str, Value]]:
        """Let the scheduler answer.

        Raises:
            ValueError: the request is longer than the context.
        """
        state, rid = self.server.state, uuid.uuid4().hex
        tokens, limit = max(len(prompt.split()), 1), int(state.stack.numbers["context"])
        if tokens + int(new) > limit:
            text = "Requested token count exceeds the model's maximum context length of {} tokens. You requested a total of {} tokens: {} tokens from the input messages and {} tokens for the completion."
            raise ValueError(text.format(limit, tokens + int(new), tokens, new))
        state.running[rid] = time.time()
        try:
            request = {"kind": "generate", "prompt": tokens, "new": int(new), "warmup": not state.ready}
            answer = self.server.scheduler.ask(request)
            while answer is None:
                # The scheduler has gone; the client waits until the leader goes too, as with the engine.
                threading.Event().wait(60)
        finally:
            state.running.pop(rid, None)
        state.answered += 1
        state.generated += answer["tokens"]
        return rid, dict(answer, prompt=tokens)


def _text(value: Value) -> str:
    if isinstance(value, list):
        return " ".join(_text(part) for part in value)
    if isinstance(value, dict):
        return str(value.get("text") or "")
    return str(value)


_ROUTES = {
    ("GET", "/health"): _Handler.health,
    ("GET", "/health_generate"): _Handler.health,
    ("GET", "/ready"): _Handler.is_ready,
    ("GET", "/model_info"): _Handler.model_info,
    ("GET", "/get_model_info"): _Handler.model_info,
    ("GET", "/v1/models"): _Handler.models,
    ("GET", "/server_info"): _Handler.server_info,
    ("GET", "/get_server_info"): _Handler.server_info,
    ("GET", "/metrics"): _Handler.metrics,
    ("GET", "/freeze_gc"): _Handler.freeze_gc,
    ("POST", "/freeze_gc"): _Handler.freeze_gc,
    ("POST", "/generate"): _Handler.generate,
    ("POST", "/v1/completions"): _Handler.completions,
    ("POST", "/v1/chat/completions"): _Handler.chat,
}
