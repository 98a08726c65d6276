"""Draft tokens of one request against the ranks that share its attention."""

from dsv4deploy.model.rule import Ask, before


def verdict(ask: Ask) -> str | None:
    """Found if the tokens of one request are no multiple of the ranks of its group."""
    groups = int(ask("trait:attention_groups"))
    # Context parallelism alone pads its ranks too, until 0.5.18 leaves drafts out of it.
    if groups == 1 and not before(ask, "0.5.18"):
        return None
    ranks, tokens = int(ask("setting:tp_size")) // groups, int(ask("setting:speculative_num_draft_tokens"))
    return f"{tokens} tokens over {ranks} ranks" if tokens % ranks else None
