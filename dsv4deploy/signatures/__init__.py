"""The catalogue of failure signatures, one YAML file each, and its compiled form for the node tool."""

from collections.abc import Iterable
from functools import cache
from importlib.resources import files
from typing import Any

import yaml

from dsv4deploy.model.signature import Signature

# What the node needs to know; sources and samples stay here.
_SHIPPED = {"sources", "samples"}


@cache
def catalogue() -> tuple[Signature, ...]:
    """Every signature, by name."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    entries = sorted(entry.name for entry in files(__name__).iterdir() if entry.name.endswith(".yaml"))
    return tuple(
        Signature.model_validate(yaml.load(files(__name__).joinpath(name).read_bytes(), loader))  # noqa: S506 (safe)
        for name in entries
    )


def compiled(signatures: Iterable[Signature]) -> dict[str, Any]:
    """The document `signatures/1` that the node tool reads: plain JSON values, nothing that is not needed there."""
    return {
        "schema": "signatures/1",
        "signatures": [
            signature.model_dump(mode="json", by_alias=True, exclude=_SHIPPED, exclude_defaults=True)
            for signature in signatures
        ],
    }
