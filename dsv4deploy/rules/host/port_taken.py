"""The server's own port, and the one on which ranks meet."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if one of the two is in use."""
    taken = set(ask("fact:ports_in_use"))
    own = [int(ask("setting:port"))]
    if ask("trait:world") > 1 and int(ask("setting:node_rank")) == 0:
        own.append(int(ask("setting:dist_port")))
    return ", ".join(str(port) for port in own if port in taken) or None
