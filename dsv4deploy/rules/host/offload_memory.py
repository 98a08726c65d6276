"""The sum over the ranks of this node against its memory."""

from typing import Final

from dsv4deploy.model.rule import Ask

GIB_PER_GB: Final = 1e9 / 2**30


def verdict(ask: Ask) -> str | None:
    """Found if the ranks together pin more than there is."""
    each = ask("written:cpu_offload_gb")
    if not each:
        return None
    pinned, host = float(each) * GIB_PER_GB * int(ask("trait:devices")), float(ask("fact:host_ram_gib"))
    return f"{pinned:.0f} GiB pinned of {host:.0f} GiB" if pinned > host else None
