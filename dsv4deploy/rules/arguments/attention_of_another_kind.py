"""Families of which it is known how they attend, and the backends that take one kind only."""

from typing import Final

from dsv4deploy.model.rule import Ask

LATENT: Final = frozenset({"deepseek-v3", "kimi-k2"})
PLAIN: Final = frozenset(
    {"llama", "qwen2", "qwen3", "qwen2_moe", "qwen3_moe", "gpt-oss", "minimax-m2", "glm-4", "mistral", "mixtral"}
)
REFUSED: Final = {"trtllm_mla": PLAIN, "cutedsl_mla": PLAIN, "trtllm_mha": LATENT}
PHASES: Final = ("attention_backend", "prefill_attention_backend", "decode_attention_backend")


def verdict(ask: Ask) -> str | None:
    """Found if a written backend refuses the family."""
    family = str(ask("trait:family"))
    wrong = [name for phase in PHASES if family in REFUSED.get(name := str(ask(f"written:{phase}")), ())]
    return f"{wrong[0]} for {family}" if wrong else None
