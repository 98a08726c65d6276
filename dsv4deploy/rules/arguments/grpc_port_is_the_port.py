"""Compares two settings."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if both are the same."""
    port, grpc = int(ask("setting:port")), int(ask("written:grpc_port") or 0)
    return str(port) if port == grpc else None
