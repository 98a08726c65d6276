"""A product of two settings against a variable."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if running requests times draft tokens exceed the buffer."""
    room = ask("env:SGLANG_DEEPEP_NUM_MAX_DISPATCH_TOKENS_PER_RANK")
    requests = ask("setting:max_running_requests")
    if room is None or requests is None:
        return None
    tokens = int(requests) * int(ask("setting:speculative_num_draft_tokens") or 1)
    return f"{tokens} tokens into {room}" if tokens > int(room) else None
