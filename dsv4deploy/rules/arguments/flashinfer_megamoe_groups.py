"""Compares the attention groups with the ranks."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found unless there are as many groups as ranks."""
    groups, tp = ask("trait:attention_groups"), int(ask("setting:tp_size"))
    return f"{groups} groups, tp {tp}" if groups != tp else None
