"""What was compiled for this version: flags, behaviour, log lines, failure scripts and the pretended world."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

# What JSON, a setting or a signal frame can be.
Value = Any

RECORD: dict[str, Value] = json.loads(Path(__file__).with_name("record.json").read_text(encoding="utf-8"))
NOTICE = "Rehearsal: this is a stand-in for SGLang {version} by dsv4deploy. No GPU, no model; answers are made up."


def behaves(name: str) -> bool:
    """Whether this version does what `behaviour` of `lines.yaml` calls `name`."""
    return bool(RECORD["behaviour"][name])
