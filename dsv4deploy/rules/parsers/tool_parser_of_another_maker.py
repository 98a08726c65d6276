"""Which parsers belong to which maker, for models that are no distillation of another's."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

MAKERS: Final = {
    "deepseek-v3": "deepseek",
    "deepseek-v3.2": "deepseek",
    "deepseek-v4": "deepseek",
    "deepseek-v4.1": "deepseek",
    "glm-4": "glm",
    "glm-dsa": "glm",
    "kimi-k2": "kimi",
    "gpt-oss": "gpt-oss",
    "minimax-m2": "minimax",
    "qwen3.5": "qwen",
}
KNOWN: Final = ("deepseek", "glm", "kimi", "gpt-oss", "minimax", "qwen", "mistral", "llama", "mimo", "step3")


def verdict(ask: Ask) -> str | None:
    """Found if the parser is known to be another maker's."""
    parser = str(ask("written:tool_call_parser") or "")
    owner = next((maker for maker in KNOWN if parser.startswith(maker)), None)
    mine = MAKERS.get(str(known(ask, "trait:family")))
    return f"{parser} for a model of {mine}" if owner and mine and owner != mine else None
