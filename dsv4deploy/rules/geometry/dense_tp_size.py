"""Compares two settings."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found unless it is the tensor-parallel size itself."""
    dense, tp = int(ask("written:moe_dense_tp_size")), int(ask("setting:tp_size"))
    return f"{dense} at tp {tp}" if dense != tp else None
