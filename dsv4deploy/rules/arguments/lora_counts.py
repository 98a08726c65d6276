"""Compares two counts; a batch holds 8 adapters unless it is said."""

from typing import Final

from dsv4deploy.model.rule import Ask

DEFAULT: Final = 8


def verdict(ask: Ask) -> str | None:
    """Found if fewer adapters may be loaded than a batch may use."""
    loaded, batch = ask("written:max_loaded_loras"), int(ask("written:max_loras_per_batch") or DEFAULT)
    if loaded is None:
        return None
    return f"{loaded} loaded, {batch} in a batch" if int(loaded) < batch else None
