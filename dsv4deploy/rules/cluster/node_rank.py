"""Compares two settings."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the rank is beyond the last node."""
    rank, nodes = int(ask("setting:node_rank")), int(ask("setting:nnodes"))
    return f"rank {rank} of {nodes} nodes" if rank >= nodes else None
