"""Divisibility over the expert-parallel ranks."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the experts do not divide."""
    experts, ranks = int(ask("fact:model.n_routed_experts")), int(ask("setting:ep_size"))
    return f"{experts} experts over {ranks} ranks" if experts % ranks else None
