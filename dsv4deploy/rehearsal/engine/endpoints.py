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
from typing import Callable

from . import log
from .record import Value, behaves
from .replies import Answer, asked, encoded, reply
from .scheduler import Scheduler
from .state import State

# Where a server listens that listens everywhere.
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 (looked up, not bound)
# Paths that need no key.
_OPEN = ("/health", "/ready", "/metrics")
_REASONS = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found", 503: "Service Unavailable"}
_NOT_FOUND = (404, {"detail": "Not Found"})
_TOO_LONG = (
    "Requested token count exceeds the model's maximum context length of {} tokens. You requested a total of {} "
    "tokens: {} tokens from the input messages and {} tokens for the completion."
)


class Server(ThreadingHTTPServer):
    """Binds its port when it is made; tells `before` how long each prompt is, before the scheduler gets it.

    Raises:
        OSError: the port is taken.
    """

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, state: State, scheduler: Scheduler, before: Callable[[int], None]) -> None:
        self.state = state
        self.scheduler = scheduler
        self.before = before
        if ":" in state.host:
            self.address_family = socket.AF_INET6
        super().__init__((state.host, state.port), _Handler)


def follow(state: State) -> None:
    """Serve the dummy health of a node that is not the first, in the background."""
    server = ThreadingHTTPServer((state.host, state.port), _Follower)
    threading.Thread(target=server.serve_forever, daemon=True).start()


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


class _Follower(BaseHTTPRequestHandler):
    """Healthy as long as it lives, and mute in the log."""

    def do_GET(self) -> None:
        """Answer 200 to a health question."""
        self.send_response_only(200 if self.path in ("/ping", "/health", "/health_generate") else 404)
        self.send_header("content-length", "0")
        self.end_headers()


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self._handle()

    def do_POST(self) -> None:
        self._handle()

    def log_message(self, *_words: Value) -> None:
        """Nothing: the access line is written with the answer."""

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        path = self.path.split("?", 1)[0].rstrip("/")
        if self._refused(path):
            self._send(401, {"error": "Unauthorized"})
            return
        try:
            self._send(*self._answer(path, body))
        except (ValueError, TypeError, AttributeError) as error:
            message = {"object": "error", "message": str(error), "type": "BadRequestError", "code": 400}
            self._send(400, message)

    def _refused(self, path: str) -> bool:
        key = self.server.state.api_key
        return bool(key) and not path.startswith(_OPEN) and self.headers.get("Authorization") != f"Bearer {key}"

    def _answer(self, path: str, body: bytes) -> tuple[int, Value]:
        state = self.server.state
        if path in ("/generate", "/v1/completions", "/v1/chat/completions") and self.command == "POST":
            return 200, self._generate(path, json.loads(body))
        if path in ("/health", "/health_generate"):
            return self._health(path), ""
        if path == "/ready" and behaves("ready_endpoint"):
            return 200 if state.ready and not state.draining and not state.unhealthy else 503, ""
        if path == "/metrics" and "metrics" in state.stack.traits:
            return 200, state.metrics()
        if path == "/freeze_gc":
            return 200, "Garbage collection frozen.\n"
        told = {
            "/model_info": state.model_info,
            "/get_model_info": state.model_info,
            "/server_info": state.server_info,
            "/get_server_info": state.server_info,
            "/v1/models": state.models,
        }.get(path)
        return (200, told()) if told else _NOT_FOUND

    def _send(self, code: int, content: Value) -> None:
        kind, data = encoded(content)
        host, port = self.client_address[:2]
        log.access(f'{host}:{port} - "{self.command} {self.path} HTTP/1.1" {code} {_REASONS[code]}')
        try:
            self.send_response_only(code)
            self.send_header("server", "uvicorn (rehearsal)")
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def _health(self, path: str) -> int:
        state = self.server.state
        if state.draining:
            log.line("Health check request received during shutdown. Returning 503.")
            return 503
        if not state.ready:
            return 503
        switch = os.environ.get("SGLANG_ENABLE_HEALTH_ENDPOINT_GENERATION", "1").lower()
        if path == "/health" and switch in ("0", "false", "no", "n"):
            return 200
        start = time.time()
        timeout = float(os.environ.get("SGLANG_HEALTH_CHECK_TIMEOUT", "20"))
        log.pause(0.1)
        asking = {"kind": "health", "prompt": 1, "new": 1}
        state.unhealthy = self.server.scheduler.ask(asking, timeout / log.SPEED) is None
        if state.unhealthy:
            when = time.strftime("%H:%M:%S", time.localtime(start))
            log.line(
                f"Health check failed. Server couldn't get a response from detokenizer for last {timeout:.0f} seconds. "
                f"tic start time: {when}. last_heartbeat time: {when}"
            )
        return 503 if state.unhealthy else 200

    def _generate(self, path: str, body: dict[str, Value]) -> Value:
        """Let the scheduler answer.

        Raises:
            ValueError: the request is longer than the context.
        """
        state, rid = self.server.state, uuid.uuid4().hex
        prompt, new = asked(path, body)
        tokens, limit = max(len(prompt.split()), 1), int(state.stack.numbers["context"])
        if tokens + new > limit:
            raise ValueError(_TOO_LONG.format(limit, tokens + new, tokens, new))
        state.running[rid] = time.time()
        try:
            self.server.before(tokens)
            request = {"kind": "generate", "prompt": tokens, "new": new}
            made = self.server.scheduler.ask(request)
            while made is None:
                # The scheduler has gone: the client waits until the leader goes too, as with the engine.
                threading.Event().wait(60)
        finally:
            state.running.pop(rid, None)
        state.answered += state.ready
        state.generated += made["tokens"]
        return reply(path, body, Answer(rid, state.model, made["text"], tokens, made["tokens"]))
