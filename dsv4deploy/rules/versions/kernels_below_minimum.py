"""The minimum of each release, as its start compares it."""

from typing import Final

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask, Missing

# first release that has the line: minimum
MINIMA: Final = (
    ("0.5.6", "0.3.18.post2"), ("0.5.6.post2", "0.3.19"), ("0.5.8", "0.3.21"), ("0.5.10", "0.4.1"), ("0.5.11", "0.4.2"),
    ("0.5.12", "0.4.2.post2"), ("0.5.13", "0.4.3"), ("0.5.14", "0.4.4"), ("0.5.16", "0.4.5"), ("0.5.18", "0.4.6.post1"),
    ("0.5.20", "0.4.7"), ("0.5.22", "0.4.9"),
)  # fmt: skip


def verdict(ask: Ask) -> str | None:
    """Found if the installed version is below the minimum."""
    try:
        installed, release = Version(str(ask("fact:sgl_kernel"))), Version(str(ask("fact:engine_version")))
    except InvalidVersion:
        raise Missing("sgl_kernel") from None
    known = [minimum for first, minimum in MINIMA if Version(first) <= release]
    return f"{installed}, at least {known[-1]}" if known and installed < Version(known[-1]) else None
