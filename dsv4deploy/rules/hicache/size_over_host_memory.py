"""What all ranks of a node pin for the host cache, where its size is written."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

GIB: Final = 2**30
RESERVE: Final = 10  # GiB that each pool leaves free
# Bytes of the indexer beside those of a token: 132 of 656 with an FP8 cache, of 1152 with a BF16 one.
INDEXER: Final = {"fp8_e4m3": 132 / 656}
INDEXER_BF16: Final = 132 / 1152


def verdict(ask: Ask) -> str | None:
    """Found if the pools of all ranks exceed host memory."""
    if not (size := float(ask("written:hicache_size") or 0)):
        return None
    host, ranks = known(ask, "fact:host_ram_available_gib") or ask("fact:host_ram_gib"), int(ask("trait:devices"))
    indexer = INDEXER.get(str(known(ask, "setting:kv_cache_dtype")), INDEXER_BF16) if _sparse(ask) else 0
    pinned = size * 1e9 / GIB * ranks * (1 + indexer)
    if pinned + RESERVE <= host:
        return None
    beside = " and the indexer's" if indexer else ""
    return f"{size:g} GB{beside} for each of {ranks} ranks are {pinned:.0f} GiB, of {host:.0f} GiB less {RESERVE}"


def _sparse(ask: Ask) -> bool:
    """Whether the model has an indexer, whose keys are cached as well."""
    return bool(known(ask, "trait:attention") == "dsa")
