"""Recorded logs of the real engine, their answer key, and the shipped signatures."""

import json
from pathlib import Path
from typing import Any

import yaml

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.rim.nodetool import signatures

SAMPLES = Path(__file__).parents[1] / "samples"
KEY: dict[str, dict[str, Any]] = yaml.safe_load((SAMPLES / "expected.yaml").read_text(encoding="utf-8"))["logs"]
CLASSES: dict[str, str] = yaml.safe_load((SAMPLES / "classes.yaml").read_text(encoding="utf-8"))
COMPILED = signatures()
SIGNATURES = Catalogue(COMPILED)


def log(name: str) -> bytes:
    return (SAMPLES / name).read_bytes()


def runs() -> dict[str, dict[str, Any]]:
    """What was observed beside the logs: health answers with their seconds, exit codes."""
    found = {}
    for name in KEY:
        beside = (SAMPLES / name).with_suffix(".json")
        if beside.exists():
            found[name] = json.loads(beside.read_text(encoding="utf-8"))
    for summary in ("h200-summary1.json", "h200-summary2.json"):
        for run, seen in json.loads((SAMPLES / summary).read_text(encoding="utf-8")).items():
            if f"h200-logs/{run}.log" in KEY:
                found[f"h200-logs/{run}.log"] = seen
    return found
