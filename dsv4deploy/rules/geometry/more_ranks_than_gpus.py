"""A sum over three settings."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if one node would have to hold more ranks than it has GPUs."""
    ranks, gpus = ask("trait:devices"), ask("fact:gpu_count")
    return f"{ranks} ranks on {gpus} GPUs" if ranks > gpus else None
