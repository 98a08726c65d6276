"""The two names of a block's size."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if both are written and differ."""
    tokens, block = ask("written:speculative_num_draft_tokens"), ask("written:speculative_dflash_block_size")
    return f"{tokens} and {block}" if tokens and block and int(tokens) != int(block) else None
