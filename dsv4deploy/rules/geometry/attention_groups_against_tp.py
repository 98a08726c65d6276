"""Divisibility of one setting by another."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if tp is no multiple of the number of groups."""
    groups, tp = ask("trait:attention_groups"), int(ask("setting:tp_size"))
    return f"{groups} groups, tp {tp}" if tp % groups else None
