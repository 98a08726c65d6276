"""Compares two settings."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found unless the experts spread over the whole group."""
    ep, tp = int(ask("setting:ep_size")), int(ask("setting:tp_size"))
    return f"ep {ep}, tp {tp}" if ep not in {1, tp} else None
