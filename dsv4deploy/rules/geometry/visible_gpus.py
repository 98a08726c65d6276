"""Counts the entries of a list."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the list holds fewer devices than the node has ranks."""
    visible = [device for device in str(ask("env:CUDA_VISIBLE_DEVICES") or "").split(",") if device.strip()]
    ranks = ask("trait:devices")
    return f"{len(visible)} visible, {ranks} needed" if visible and len(visible) < ranks else None
