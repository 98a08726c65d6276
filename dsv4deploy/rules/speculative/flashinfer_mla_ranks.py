"""How many ranks share an attention group."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if a group has more than one rank."""
    ranks = int(ask("setting:tp_size")) // int(ask("trait:attention_groups"))
    return f"{ranks} ranks in a group" if ranks > 1 else None
