"""The largest decode graph against the room of a rank, which is 128 tokens unless it is said."""

from typing import Final

from dsv4deploy.model.rule import Ask

ROOM: Final = 128


def verdict(ask: Ask) -> str | None:
    """Found if the largest batch that is captured does not fit."""
    largest = ask("written:cuda_graph_max_bs_decode")
    if largest is None or ask("written:disable_cuda_graph"):
        return None
    batch = min(int(largest), int(ask("written:max_running_requests") or largest))
    tokens = batch * int(ask("setting:speculative_num_draft_tokens") or 1)
    room = int(ask("env:SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK") or ROOM)
    return f"{tokens} tokens into {room}" if tokens > room else None
