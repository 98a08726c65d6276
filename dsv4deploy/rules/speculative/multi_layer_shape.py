"""Draft tokens against steps."""

from typing import Final

from dsv4deploy.model.rule import Ask

# Families for which the resolver fills in a chain (3 steps, no branches); it gives all others a tree.
CHAINED: Final = {"deepseek-v3", "deepseek-v3.2", "deepseek-v4", "glm-4", "glm-dsa", "kimi-k2", "qwen3.5", "qwen3_next"}


def verdict(ask: Ask) -> str | None:
    """Found if there is one token more or less than the steps and the one that is verified."""
    steps, tokens = ask("written:speculative_num_steps"), ask("setting:speculative_num_draft_tokens")
    if steps is None:
        return None if ask("trait:family") in CHAINED else "5 steps and 8 tokens are filled in for this model"
    return f"{tokens} tokens at {steps} steps" if tokens is not None and int(tokens) != int(steps) + 1 else None
