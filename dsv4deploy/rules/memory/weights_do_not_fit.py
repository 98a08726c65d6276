"""The least that must fit: the weights, evenly cut, into the static share of one card."""

from dsv4deploy.model.rule import Ask, known

GIB = 2**30


def verdict(ask: Ask) -> str | None:
    """Found if the weights of a rank are larger than the memory they may take."""
    rank = int(ask("fact:model.weight_bytes")) / ask("trait:world") / GIB - float(ask("setting:cpu_offload_gb") or 0)
    card = int(ask("fact:gpu_memory_mib")) / 1024
    share = float(known(ask, "written:mem_fraction_static") or 1) * card
    return f"{rank:.0f} GiB of weights into {share:.0f} of {card:.0f} GiB" if rank > share else None
