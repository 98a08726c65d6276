"""Which of two numbers is larger needs both."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the promised prompt has more tokens than the context."""
    prompt, context = int(ask("profile:health.longest_prompt") or 0), int(ask("written:context_length") or 1)
    return f"{prompt} tokens promised, {context} in the context" if prompt > context else None
