"""The most that the host cache can pin: the device cache cannot be larger than the static share without weights."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

GIB: Final = 2**30
RESERVE: Final = 10  # GiB that each pool leaves free
LEAST: Final = 0.7  # what no release goes below by itself where --mem-fraction-static is not written


def verdict(ask: Ask) -> str | None:
    """Found if the largest possible host cache exceeds host memory."""
    host = known(ask, "fact:host_ram_available_gib") or ask("fact:host_ram_gib")
    share = known(ask, "setting:mem_fraction_static")
    weights = (known(ask, "fact:model.weight_bytes") or 0) / GIB * ask("trait:devices") / ask("trait:world")
    device = float(share or LEAST) * int(ask("fact:gpu_memory_mib")) / 1024 * ask("trait:devices") - weights
    pinned = device * float(ask("setting:hicache_ratio"))
    if pinned + RESERVE <= host:
        return None
    return f"{'up to' if share else 'about'} {pinned:.0f} GiB pinned of {host:.0f} GiB"
