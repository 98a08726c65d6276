"""Divisibility by a product."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the ranks do not divide."""
    contexts = int(ask("setting:attn_cp_size") or 1)
    if contexts == 1:
        return None
    tp, parts = int(ask("setting:tp_size")), contexts * int(ask("trait:attention_groups"))
    return f"{tp} ranks into {parts} groups" if tp % parts else None
