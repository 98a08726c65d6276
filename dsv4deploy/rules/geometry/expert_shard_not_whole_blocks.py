"""Divisibility of a shard by a block."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if an expert's width over the tensor-parallel ranks of the MoE layer is no multiple of a block."""
    ranks = int(ask("setting:tp_size")) // int(ask("setting:ep_size"))
    if ranks <= 1:
        return None
    width, block = int(ask("fact:model.moe_intermediate_size")), int(ask("trait:block"))
    shard, rest = divmod(width, ranks)
    return f"{width} over {ranks} ranks is {width / ranks:g}, blocks are {block}" if rest or shard % block else None
