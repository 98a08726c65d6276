"""Looks for one character."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the name holds a colon."""
    name = str(ask("written:served_model_name") or "None")
    return name if ":" in name else None
