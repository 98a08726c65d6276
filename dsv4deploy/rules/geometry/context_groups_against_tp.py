"""Divisibility by a product."""

from packaging.version import Version

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the ranks do not divide; until 0.5.22 replicas count whether they share the attention or not."""
    contexts = int(ask("setting:attn_cp_size") or 1)
    if contexts == 1:
        return None
    tp, parts = int(ask("setting:tp_size")), contexts * int(ask("trait:attention_groups"))
    replicas = int(ask("setting:dp_size") or 1)
    if not tp % parts and replicas > 1 and Version(str(ask("fact:engine_version"))) < Version("0.5.22"):
        parts = contexts * replicas
    return f"{tp} ranks into {parts} groups" if tp % parts else None
