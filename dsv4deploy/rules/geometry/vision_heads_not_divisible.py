"""The heads of the vision tower: as the model says, or as its family was published."""

from typing import Final

from dsv4deploy.model.rule import Ask, Missing, known

PUBLISHED: Final = {"qwen3.5": 16}


def verdict(ask: Ask) -> str | None:
    """Found if they do not divide over the ranks."""
    heads = known(ask, "fact:model.vision_num_heads") or PUBLISHED.get(str(known(ask, "trait:family")))
    if heads is None:
        raise Missing("model.vision_num_heads")
    ranks = int(ask("setting:tp_size"))
    return f"{heads} heads over {ranks} ranks" if heads % ranks else None
