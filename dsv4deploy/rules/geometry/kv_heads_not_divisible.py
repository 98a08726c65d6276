"""One of two numbers must divide the other."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if neither divides the other."""
    ranks = max(1, int(ask("setting:tp_size")) // int(ask("trait:attention_groups")))
    if ranks == 1:
        return None
    heads = int(ask("fact:model.num_key_value_heads"))
    return f"{heads} key-value heads over {ranks} ranks" if heads % ranks and ranks % heads else None
