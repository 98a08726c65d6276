"""Whether what an installed engine pins is what stands beside it, by the metadata of the packages alone."""

from __future__ import annotations

import re

from dsv4deploy.node import versions
from dsv4deploy.node.facts import installed, plain
from dsv4deploy.node.files import text
from dsv4deploy.node.sites import sites

# A requirement with a marker holds only somewhere, and who writes one knows where; it is left out.
_PINNED = re.compile(r"^Requires-Dist: ([A-Za-z0-9._-]+)(?:\[[^\]]*\])?\s*\(?==\s*([^\s;,()]+)\)?\s*$", re.MULTILINE)


def unmet(python: str, distribution: str = "sglang") -> list[str]:
    """Every `name==version` that the distribution asks for exactly and does not find, with what is there instead."""
    have, places = installed(python), sites(python)
    forms = (f"{distribution}-*.dist-info/METADATA", f"{distribution}.egg-info/PKG-INFO")
    metadata = [one for site in places.folders for form in forms for one in site.glob(form)]
    wanted = _PINNED.findall(text(metadata[0])) if metadata else []  # the first is the one that Python finds
    absent = f"not found; the code in {places.unread[0]} was not run" if places.unread else "not installed"
    return [
        f"{name}=={version} ({'has ' + have[plain(name)] if plain(name) in have else absent})"
        for name, version in wanted
        if not _meets(have.get(plain(name)), version)
    ]


def _meets(have: str | None, wanted: str) -> bool:
    try:
        return have is not None and versions.fits(have, f"=={wanted}")
    except ValueError:
        return have == wanted
