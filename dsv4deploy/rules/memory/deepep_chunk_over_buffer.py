"""The prefill chunk of a rank against a variable."""

from typing import Final

from dsv4deploy.model.rule import Ask

DEFAULT: Final = 128


def verdict(ask: Ask) -> str | None:
    """Found if what a rank prefills at once, its share of the chunk, exceeds the buffer."""
    room = int(ask("env:SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK") or DEFAULT)
    chunk = int(ask("setting:chunked_prefill_size") or 0)
    return f"{chunk} tokens into {room}" if chunk > room else None
