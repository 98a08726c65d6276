"""The block of a DSPARK draft and the token that the target adds."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if both numbers are written and do not fit."""
    block, tokens = ask("written:speculative_dspark_block_size"), ask("written:speculative_num_draft_tokens")
    if block is None or tokens is None or int(tokens) == int(block) + 1:
        return None
    return f"{tokens} for a block of {block}"
