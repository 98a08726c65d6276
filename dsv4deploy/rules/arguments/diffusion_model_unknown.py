"""The model classes that diffusion decoding knows, by the release that brought them."""

from typing import Final

from dsv4deploy.model.rule import Ask, before

KNOWN: Final = {
    "LLaDA2MoeModelLM": "0.5.6",
    "SDARForCausalLM": "0.5.9",
    "SDARMoeForCausalLM": "0.5.9",
    "DiffusionGemmaForBlockDiffusion": "0.5.21",
}


def verdict(ask: Ask) -> str | None:
    """Found if the first class of the model is not in the release's table."""
    name = ask("fact:model.architectures")[0]
    came = KNOWN.get(name)
    if came is None:
        return str(name)
    return f"{name} came with {came}" if before(ask, came) else None
