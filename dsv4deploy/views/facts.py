"""A facts document as text: what `--facts` reads back."""

import json
from typing import Any

import yaml

from dsv4deploy.model.checkpoint import ModelReading
from dsv4deploy.model.facts import Facts


def facts_tree(facts: Facts, reading: ModelReading | None = None) -> dict[str, Any]:
    """The document as a tree: known facts only, then what memory fit needs of the model folder."""
    tree: dict[str, Any] = {"schema": "facts/1", **facts.model_dump(mode="json", exclude_none=True)}
    if reading is not None:
        tree["model"] = reading.facts.model_dump(mode="json", exclude_none=True)
        tree["checkpoint"] = reading.checkpoint.model_dump(mode="json", exclude_none=True)
    if not tree.get("model"):
        tree.pop("model", None)
    return tree


def facts_json(tree: dict[str, Any]) -> str:
    """The document as JSON."""
    return json.dumps(tree, indent=2)


def facts_yaml(tree: dict[str, Any], notes: tuple[str, ...] = ()) -> str:
    """The document as YAML, its notes as comments on top."""
    head = "".join(f"# note: {note}\n" for note in notes)
    return head + yaml.safe_dump(tree, sort_keys=False, width=120).rstrip("\n")
