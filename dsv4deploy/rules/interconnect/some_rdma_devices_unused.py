"""Compares a list in a variable with a list of devices."""

from dsv4deploy.model.rule import Ask


def verdict(ask: Ask) -> str | None:
    """Found if devices are left out although the launch spans nodes."""
    named = str(ask("env:NCCL_IB_HCA") or "")
    if not named or named.startswith("^") or int(ask("setting:nnodes")) == 1:
        return None
    words = [word.lstrip("=").partition(":")[0] for word in named.split(",")]
    unused = [device for device in ask("fact:rdma_devices") if not any(device.startswith(word) for word in words)]
    return f"not {', '.join(unused)}" if unused else None
