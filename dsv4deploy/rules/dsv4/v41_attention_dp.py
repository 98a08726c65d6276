"""Compares the groups with the ranks."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if a group holds more than one rank."""
    groups, tp = ask("trait:attention_groups"), int(ask("setting:tp_size"))
    return f"{groups} groups, tp {tp}" if groups not in {1, tp} else None
