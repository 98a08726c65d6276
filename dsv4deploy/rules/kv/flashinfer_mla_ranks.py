"""The ranks that share an attention group, against what a batch holds."""

from dsv4deploy.model.rule import Ask, before


def verdict(ask: Ask) -> str | None:
    """Found if a group has several ranks, and there are drafts or a limit that is no multiple of them."""
    groups = int(ask("trait:attention_groups"))
    ranks, most = int(ask("setting:tp_size")) // groups, ask("written:max_running_requests")
    if ranks == 1:
        return None
    if ask("written:speculative_algorithm"):
        return f"drafts, and {ranks} ranks in a group"
    if most and not before(ask, "0.5.18") and int(most) // groups % ranks:
        return f"{int(most) // groups} requests for {ranks} ranks of a group"
    return None
