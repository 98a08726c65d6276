"""Two sizes that must be the same."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if they differ."""
    replicas, groups = int(ask("setting:moe_dp_size") or 1), int(ask("setting:attn_cp_size") or 1)
    return None if replicas == groups else f"{replicas} replicas, {groups} group{'s' if groups > 1 else ''}"
