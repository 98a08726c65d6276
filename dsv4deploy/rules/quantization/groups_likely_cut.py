"""Divisibility of what a rank reads by the group that is usual."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

USUAL: Final = 128


def verdict(ask: Ask) -> str | None:
    """Found if nobody knows the size of a group, and the usual one would be cut."""
    ranks = int(ask("setting:tp_size"))
    if ranks == 1 or known(ask, "fact:model.weight_group_size") or known(ask, "fact:model.n_routed_experts"):
        return None
    shard, rest = divmod(int(ask("fact:model.intermediate_size")), ranks)
    return f"a rank has {shard} inputs of the second dense matrix" if rest or shard % USUAL else None
