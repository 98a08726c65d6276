"""Divisibility needs a sum."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the chunk of one rank is no multiple of a page."""
    chunk, page = int(ask("setting:chunked_prefill_size")), int(ask("setting:page_size"))
    return f"{chunk} tokens a rank, pages of {page}" if chunk % page else None
