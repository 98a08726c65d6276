"""Compares a setting with a fact."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the context is longer than the positions the model has."""
    context, limit = int(ask("written:context_length") or 1), int(ask("fact:model.max_position_embeddings"))
    return f"{context} of {limit} tokens" if context > limit else None
