"""Compares two facts."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if the two differ."""
    library, kernels = ask("fact:flashinfer"), ask("fact:flashinfer_cubin")
    return f"{library} and {kernels}" if library != kernels else None
