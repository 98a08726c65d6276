"""Divisibility of a draft expert's shard by a block."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the draft's experts over the tensor-parallel ranks of the MoE layer are no multiple of a block."""
    ranks = int(ask("setting:tp_size")) // int(ask("setting:ep_size"))
    if ranks <= 1:
        return None
    width, block = int(ask("fact:model.mtp_moe_intermediate_size")), int(ask("fact:model.mtp_weight_block_size")[0])
    return f"{width} over {ranks} ranks, blocks are {block}" if width % (ranks * block) else None
