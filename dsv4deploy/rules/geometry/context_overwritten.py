"""Compares a context with the positions that the model has, or is given."""

from dsv4deploy.model.rule import Ask, known


def verdict(ask: Ask) -> str | None:
    """Found if the context is longer than the positions the model has; a text model takes more from rope scaling."""
    context, limit = int(ask("written:context_length") or 1), int(ask("fact:model.max_position_embeddings"))
    if context <= limit or (_stretched(ask) and _is_text(ask)):
        return None
    return f"{context} of {limit} tokens"


def _stretched(ask: Ask) -> bool:
    return "rope" in str(ask("written:json_model_override_args") or "")


def _is_text(ask: Ask) -> bool:
    """Whether the model is no wrapper around a text model."""
    names = known(ask, "fact:model.architectures") or ()
    return bool(names) and all(name.endswith("ForCausalLM") for name in names)
