"""A product of settings against a fact."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the replicas together have more ranks than the node has GPUs."""
    replicas, ranks, gpus = int(ask("setting:dp_size")), int(ask("trait:world")), int(ask("fact:gpu_count"))
    return f"{replicas} replicas of {ranks} ranks on {gpus} GPUs" if replicas * ranks > gpus else None
