"""Divisibility of one setting by another."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if tp is no multiple of ep."""
    ep, tp = int(ask("setting:ep_size")), int(ask("setting:tp_size"))
    return f"ep {ep}, tp {tp}" if tp % ep else None
