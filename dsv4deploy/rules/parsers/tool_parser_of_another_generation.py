"""The generation is told by the model's type where it has one of its own, and by its name where it does not."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

BY_FAMILY: Final = {
    "deepseek-v4": ("deepseekv4",),
    "deepseek-v4.1": ("deepseekv41",),
    "deepseek-v3.2": ("deepseekv32",),
}
# The longest beginning of a name that fits decides.
BY_NAME: Final = {
    "deepseek-v3.2": ("deepseekv32",),
    "deepseek-v3.1": ("deepseekv31",),
    "deepseek-v3": ("deepseekv3",),
    "deepseek-r1": ("deepseekv3",),
}
DEEPSEEK: Final = "deepseek"


def verdict(ask: Ask) -> str | None:
    """Found if a DeepSeek parser stands beside a DeepSeek model of another generation."""
    parser = str(ask("written:tool_call_parser") or "")
    if not parser.startswith(DEEPSEEK):
        return None
    wanted = BY_FAMILY.get(str(known(ask, "trait:family"))) or _by_name(str(ask("trait:model_name")))
    if wanted is None or parser in wanted:
        return None
    return f"{parser}, this generation has {wanted[0]}"


def _by_name(name: str) -> tuple[str, ...] | None:
    return next((parsers for start, parsers in BY_NAME.items() if name.startswith(start)), None)
