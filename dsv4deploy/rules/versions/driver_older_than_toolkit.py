"""Compares two versions."""

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask, Missing


def verdict(ask: Ask) -> str | None:
    """Found if the CUDA of the software is newer than that of the driver."""
    driver, software = str(ask("fact:driver_cuda")), str(ask("fact:cuda"))
    try:
        newer = Version(software) > Version(driver)
    except InvalidVersion:
        raise Missing("cuda", "driver_cuda") from None
    return f"driver {driver}, software {software}" if newer else None
