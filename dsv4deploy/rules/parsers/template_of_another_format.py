"""A template by its name."""

from dsv4deploy.model.rule import Ask, Found


def verdict(ask: Ask) -> Found | None:
    """Found if the template is the one that is shipped with the engine."""
    return Found() if str(ask("written:chat_template")).endswith("tool_chat_template_deepseekv32.jinja") else None
