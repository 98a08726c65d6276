"""Whether what an installed engine pins is what stands beside it, by the metadata of the packages alone."""

from __future__ import annotations

import re

from dsv4deploy.node import versions
from dsv4deploy.node.facts import installed, plain, site_packages
from dsv4deploy.node.files import text

# A requirement with a marker holds only somewhere, and who writes one knows where; it is left out.
_PINNED = re.compile(r"^Requires-Dist: ([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?==\s*([^\s;,()]+)\)?\s*$", re.MULTILINE)


def unmet(python: str, distribution: str = "sglang") -> list[str]:
    """Every `name==version` that the distribution asks for exactly and does not find, with what is there instead."""
    have = installed(python)
    metadata = (one for site in site_packages(python) for one in site.glob(f"{distribution}-*.dist-info/METADATA"))
    wanted = [pin for one in metadata for pin in _PINNED.findall(text(one))]
    return [
        f"{name}=={version} ({'has ' + have[plain(name)] if plain(name) in have else 'not installed'})"
        for name, version in wanted
        if not _meets(have.get(plain(name)), version)
    ]


def _meets(have: str | None, wanted: str) -> bool:
    try:
        return have is not None and versions.fits(have, f"=={wanted}")
    except ValueError:
        return have == wanted
