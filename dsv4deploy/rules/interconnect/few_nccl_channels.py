"""Whether NCCL guesses the way between GPUs wrong."""

from dsv4deploy.model.rule import Ask, Found, Missing, known


def verdict(ask: Ask) -> Found | None:
    """Found over several sockets, and on a processor of AMD with any number of them."""
    nodes, cpu = known(ask, "fact:numa_nodes"), known(ask, "fact:cpu")
    if nodes is None and cpu is None:
        raise Missing("numa_nodes")
    return Found() if int(nodes or 1) > 1 or "AMD" in str(cpu) else None
