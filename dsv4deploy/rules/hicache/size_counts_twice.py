"""What all ranks of a node pin for two host caches of the size that is written for one."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

RESERVE: Final = 10  # GiB that each pool leaves free


def verdict(ask: Ask) -> str | None:
    """Found if both pools of all ranks exceed host memory."""
    if not (size := float(ask("written:hicache_size") or 0)):
        return None
    host, ranks = known(ask, "fact:host_ram_available_gib") or ask("fact:host_ram_gib"), int(ask("trait:devices"))
    pinned = 2 * size * 1e9 / 2**30 * ranks
    if pinned + RESERVE <= host:
        return None
    return f"twice {size:g} GB for each of {ranks} ranks are {pinned:.0f} GiB, of {host:.0f} GiB less {RESERVE}"
