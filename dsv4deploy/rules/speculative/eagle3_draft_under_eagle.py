"""A draft by its name."""

from dsv4deploy.model.rule import Ask, Found


def verdict(ask: Ask) -> Found | None:
    """Found if the draft calls itself one of EAGLE3."""
    return Found() if "eagle3" in str(ask("written:speculative_draft_model_path")).lower() else None
