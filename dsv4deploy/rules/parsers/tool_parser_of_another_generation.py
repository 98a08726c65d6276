"""The generation is told by the model's type where it has one of its own, and by its name where it does not."""

from typing import Final

from dsv4deploy.model.rule import Ask, known

BY_FAMILY: Final = {
    "deepseek-v4": "deepseekv4",
    "deepseek-v4.1": "deepseekv41",
    "deepseek-v3.2": "deepseekv32",
    "qwen3.5": "qwen3_coder",
}
# V3.2-Exp shares its type with V3.2 and still writes the calls of V3.1.
EXPERIMENT: Final = "deepseek-v3.2-exp"
# The first beginning of a name that fits decides.
BY_NAME: Final = {
    EXPERIMENT: "deepseekv31",
    "deepseek-v3.2": "deepseekv32",
    "deepseek-v3.1": "deepseekv31",
    "deepseek-v3": "deepseekv3",
    "deepseek-r1": "deepseekv3",
    "glm-4.7": "glm47",
    "glm-5": "glm47",
    "qwen3-coder": "qwen3_coder",
    "qwen3.5": "qwen3_coder",
}
# Parsers that are mistaken for one another.
RELATIVES: Final = (
    {"deepseekv3", "deepseekv31", "deepseekv32", "deepseekv4", "deepseekv41"},
    {"glm", "glm45", "glm47"},
    {"qwen", "qwen25", "qwen3_coder"},
)


def verdict(ask: Ask) -> str | None:
    """Found if the parser of another generation of the same maker stands there."""
    parser = str(ask("written:tool_call_parser") or "")
    relatives = next((names for names in RELATIVES if parser in names), set())
    if not relatives:
        return None
    name = str(ask("trait:model_name"))
    by_family = None if name.startswith(EXPERIMENT) else BY_FAMILY.get(str(known(ask, "trait:family")))
    wanted = by_family or _by_name(name)
    if wanted == parser or wanted not in relatives:
        return None
    return f"{parser}, this generation has {wanted}"


def _by_name(name: str) -> str | None:
    return next((parser for start, parser in BY_NAME.items() if name.startswith(start)), None)
