"""The vision tower of this family has 16 heads."""

from typing import Final

from dsv4deploy.model.rule import Ask

HEADS: Final = 16


def verdict(ask: Ask) -> str | None:
    """Found if they do not divide."""
    ranks = int(ask("setting:tp_size"))
    return f"{HEADS} heads over {ranks} ranks" if HEADS % ranks else None
