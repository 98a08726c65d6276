"""The most that the host cache can pin: the device cache cannot be larger than the static share without weights."""

from dsv4deploy.model.rule import Ask, Missing, known

GIB = 2**30


def verdict(ask: Ask) -> str | None:
    """Found if the largest possible host cache exceeds host memory."""
    host = known(ask, "fact:host_ram_available_gib") or ask("fact:host_ram_gib")
    if size := ask("written:hicache_size"):
        pinned = float(size) * ask("trait:devices")
    else:
        share = ask("setting:mem_fraction_static")
        if share is None:
            raise Missing("setting.mem_fraction_static")
        weights = (known(ask, "fact:model.weight_bytes") or 0) / GIB * ask("trait:devices") / ask("trait:world")
        device = float(share) * int(ask("fact:gpu_memory_mib")) / 1024 * ask("trait:devices") - weights
        pinned = device * float(ask("setting:hicache_ratio"))
    return f"up to {pinned:.0f} GiB pinned of {host:.0f} GiB" if pinned > host else None
