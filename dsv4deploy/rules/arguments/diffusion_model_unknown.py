"""The model classes that diffusion decoding knows, by the release that brought them."""

from typing import Final

from dsv4deploy.model.rule import Ask, not_in_table

KNOWN: Final = {
    "LLaDA2MoeModelLM": "0.5.6",
    "SDARForCausalLM": "0.5.9",
    "SDARMoeForCausalLM": "0.5.9",
    "DiffusionGemmaForBlockDiffusion": "0.5.21",
}


def verdict(ask: Ask) -> str | None:
    """Found if the first class of the model is not in the release's table."""
    return not_in_table(ask, KNOWN)
