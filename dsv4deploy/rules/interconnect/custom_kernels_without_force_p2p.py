"""Looks for one word in the driver's parameters."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found unless the driver is told to let kernels reach peers."""
    given = str(ask("fact:driver_params"))
    return None if "ForceP2P=0x11" in given else f"driver parameters: {given[:60]}"
