"""Whether the weights have scales by block, which is what this choice is for."""

from dsv4deploy.model.rule import Ask, Found


def verdict(ask: Ask) -> Found | None:
    """Found if a block is known; weights with one scale a tensor take another path."""
    return Found() if int(ask("trait:block")) > 1 else None
