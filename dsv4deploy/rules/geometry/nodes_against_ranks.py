"""Divisibility of a product by a setting."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the ranks are no multiple of the nodes."""
    ranks, nodes = ask("trait:world"), int(ask("setting:nnodes"))
    return f"{ranks} ranks on {nodes} nodes" if ranks % nodes else None
