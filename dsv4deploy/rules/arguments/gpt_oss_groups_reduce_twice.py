"""The attention groups against the ranks of the experts and of the whole."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if all three are as many."""
    groups, experts, ranks = ask("trait:attention_groups"), int(ask("setting:ep_size")), int(ask("setting:tp_size"))
    return f"{groups} groups, ep {experts}, tp {ranks}" if groups == experts == ranks else None
