"""The rehearsal engine: stands in for the `sglang` package of one version, without a GPU and without a model."""

from __future__ import annotations

from .record import RECORD

__version__ = RECORD["version"]
REHEARSAL = True
