"""Divisibility of a shard by a block."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if a dense layer's width over the ranks is no multiple of a block."""
    ranks = int(ask("setting:tp_size"))
    if ranks == 1:
        return None
    width, block = int(ask("fact:model.intermediate_size")), int(ask("trait:block"))
    shard, rest = divmod(width, ranks)
    return f"{width} over {ranks} ranks is {width / ranks:g}, blocks are {block}" if rest or shard % block else None
