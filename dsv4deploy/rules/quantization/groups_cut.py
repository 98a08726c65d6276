"""Divisibility of what a rank reads by a group."""

from collections.abc import Iterator

from dsv4deploy.model.rule import Ask, Missing, known


def verdict(ask: Ask) -> str | None:
    """Found if the inputs of the second matrix of a layer, over the ranks, are no multiple of a group."""
    ranks = int(ask("setting:tp_size"))
    # Experts fall back to a kernel that takes a cut group, and what surrounds them is often left in 16 bits.
    if ranks == 1 or known(ask, "fact:model.n_routed_experts"):
        return None
    group, widths = int(ask("fact:model.weight_group_size")), dict(_widths(ask))
    if not widths:
        raise Missing("model.intermediate_size")
    for what, width in widths.items():
        shard, rest = divmod(width, ranks)
        if rest or shard % group:
            return f"{width} inputs of {what} over {ranks} ranks are {width / ranks:g}, groups are {group}"
    return None


def _widths(ask: Ask) -> Iterator[tuple[str, int]]:
    """The widths that tensor parallelism cuts, as far as they are known."""
    if width := known(ask, "fact:model.intermediate_size"):
        yield "the second dense matrix", int(width)
    heads, size = known(ask, "fact:model.num_attention_heads"), known(ask, "fact:model.head_dim")
    if heads and size:
        yield "the attention's output", int(heads) * int(size)
