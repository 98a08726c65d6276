"""The shapes of requests and replies: the native endpoint, completions and chat completions, whole and streamed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass

from .record import Value

# A reply, or the events of a stream.
Reply = Value


@dataclass(frozen=True)
class Answer:
    """What the scheduler generated, with the lengths of prompt and answer in tokens."""

    rid: str
    model: str
    text: str
    prompt: int
    tokens: int


def asked(path: str, body: dict[str, Value]) -> tuple[str, int]:
    """The prompt of a request to `path` as text, and how many tokens it wants."""
    if path == "/generate":
        wanted = (body.get("sampling_params") or {}).get("max_new_tokens", 128)
        return _text(body.get("text") or body.get("input_ids") or ""), int(wanted)
    if path == "/v1/completions":
        return _text(body.get("prompt", "")), int(body.get("max_tokens") or 16)
    said = " ".join(_text(message.get("content") or "") for message in body.get("messages", []))
    return said, int(body.get("max_completion_tokens") or body.get("max_tokens") or 64)


def reply(path: str, body: dict[str, Value], answer: Answer) -> Reply:
    """What `path` says: one object, or a list of events if the request wants a stream."""
    shape = {"/generate": _generate, "/v1/completions": _completion}.get(path, _chat)
    return shape(answer, bool(body.get("stream")))


def encoded(content: Reply) -> tuple[str, bytes]:
    """Media type and bytes: plain text, JSON, or for a list a stream of events."""
    if isinstance(content, str):
        return "text/plain; charset=utf-8", content.encode()
    if isinstance(content, list):
        events = [*(json.dumps(event) for event in content), "[DONE]"]
        return "text/event-stream", "".join(f"data: {event}\n\n" for event in events).encode()
    return "application/json", json.dumps(content).encode()


def _generate(answer: Answer, stream: bool) -> Reply:
    meta = {
        "id": answer.rid,
        "finish_reason": {"type": "length", "length": answer.tokens},
        "prompt_tokens": answer.prompt,
        "completion_tokens": answer.tokens,
        "cached_tokens": 0,
        "weight_version": "default",
    }
    whole = {"text": answer.text, "meta_info": meta}
    return [whole] if stream else whole


def _completion(answer: Answer, stream: bool) -> Reply:
    whole = _openai(answer, "text_completion", [_choice(text=answer.text)])
    if not stream:
        return whole
    return [dict(whole, choices=[_choice(text=piece)], usage=None) for piece in _pieces(answer.text)]


def _chat(answer: Answer, stream: bool) -> Reply:
    said = {"role": "assistant", "content": answer.text.strip(), "reasoning_content": None, "tool_calls": None}
    whole = _openai(answer, "chat.completion", [_choice(message=said)])
    if not stream:
        return whole
    chunk = dict(whole, object="chat.completion.chunk", usage=None)
    return [dict(chunk, choices=[_choice(delta=dict(said, content=piece))]) for piece in _pieces(answer.text)]


def _openai(answer: Answer, kind: str, choices: list[Value]) -> dict[str, Value]:
    usage = {
        "prompt_tokens": answer.prompt,
        "completion_tokens": answer.tokens,
        "total_tokens": answer.prompt + answer.tokens,
        "prompt_tokens_details": None,
    }
    return {
        "id": answer.rid,
        "object": kind,
        "created": int(time.time()),
        "model": answer.model,
        "choices": choices,
        "usage": usage,
        "metadata": {"weight_version": "default"},
    }


def _choice(**said: Value) -> dict[str, Value]:
    return {"index": 0, **said, "logprobs": None, "finish_reason": "length", "matched_stop": None}


def _pieces(text: str) -> list[str]:
    return [f" {word}" for word in text.split()]


def _text(value: Value) -> str:
    if isinstance(value, list):
        return " ".join(_text(part) for part in value)
    if isinstance(value, dict):
        return str(value.get("text") or "")
    return str(value)
