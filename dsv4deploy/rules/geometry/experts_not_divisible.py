"""Divisibility over the expert-parallel ranks."""

from typing import Final

from dsv4deploy.model.rule import Ask

# Families whose layers are made for the redundant experts too; others pass them over.
COUNTED: Final = {
    "deepseek-v3", "deepseek-v3.2", "deepseek-v4", "glm-4", "glm-dsa", "gpt-oss", "kimi-k2", "mimo_v2_flash", "minimax-m2",
    "nemotron_h", "qwen2_moe", "qwen3.5", "qwen3_moe", "qwen3_next", "step3p5",
}  # fmt: skip


def verdict(ask: Ask) -> str | None:
    """Found if the experts do not divide."""
    experts, ranks = int(ask("fact:model.n_routed_experts")), int(ask("setting:ep_size"))
    more = int(ask("setting:ep_num_redundant_experts") or 0)
    if more:
        if str(ask("trait:family")) not in COUNTED:
            return None
        experts += more
    return f"{experts} experts over {ranks} ranks" if experts % ranks else None
