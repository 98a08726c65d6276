"""Divisibility over the ranks of one attention group."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the heads do not divide."""
    ranks = max(1, int(ask("setting:tp_size")) // int(ask("trait:attention_groups")))
    if ranks == 1:
        return None
    heads = int(ask("fact:model.num_attention_heads"))
    return f"{heads} heads over {ranks} ranks" if heads % ranks else None
