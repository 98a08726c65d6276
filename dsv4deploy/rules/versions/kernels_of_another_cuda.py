"""Which CUDA torch and the kernels were built for, from the local part of their versions."""

import re
from typing import Final

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.rule import Ask

LAST_OF_CUDA_12: Final = Version("0.4.1")


def verdict(ask: Ask) -> str | None:
    """Found if both are known and differ in their major release."""
    kernels, torch = str(ask("fact:sgl_kernel")), str(ask("fact:torch"))
    theirs, its = _named(kernels) or _published(kernels), _named(torch)
    return f"kernels for CUDA {theirs}, torch for {its}" if theirs and its and theirs != its else None


def _named(version: str) -> str | None:
    """The major release in `2.11.0+cu130`."""
    found = re.search(r"\+cu(\d\d)\d", version)
    return found[1] if found else None


def _published(version: str) -> str | None:
    """The CUDA of a wheel whose version does not name it; later ones were not looked at."""
    try:
        return "12" if Version(version) <= LAST_OF_CUDA_12 else None
    except InvalidVersion:
        return None
