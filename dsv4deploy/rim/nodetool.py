"""Builds the tool for the nodes: one zipapp, the same bytes every time from the same sources."""

import functools
import io
import json
import zipfile
from importlib import resources
from typing import Any

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.signatures import catalogue, compiled

_MAIN = "node/archive.py"
_LONG_AGO = (1980, 1, 1, 0, 0, 0)


@functools.cache
def build() -> bytes:
    """The zipapp, ready to be written to `node.pyz` or sent to a node."""
    package = resources.files("dsv4deploy")
    entries = {
        "__main__.py": (package / _MAIN).read_bytes(),
        "dsv4deploy/__init__.py": (package / "__init__.py").read_bytes(),
    }
    entries["dsv4deploy/node/signatures.json"] = json.dumps(signatures(), sort_keys=True).encode()
    for folder in ("node", "node/checks", "node/verbs"):
        for source in (package / folder).iterdir():
            if source.name.endswith(".py"):
                entries[f"dsv4deploy/{folder}/{source.name}"] = source.read_bytes()
    out = io.BytesIO(b"")
    out.write(b"#!/usr/bin/env python3\n")
    with zipfile.ZipFile(out, "a", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name in sorted(entries):
            info = zipfile.ZipInfo(name, _LONG_AGO)
            info.external_attr = 0o644 << 16
            info.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(info, entries[name])
    return out.getvalue()


def signatures() -> dict[str, Any]:
    """The compiled signatures with the gates of their search, which no node shall have to find again."""
    document = compiled(catalogue())
    return {**document, "gates": Catalogue(document).search.gates}
