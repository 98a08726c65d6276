"""A facts document as text: what `--facts` reads back."""

import json
from typing import Any

import yaml

from dsv4deploy.model.checkpoint import ModelReading
from dsv4deploy.model.facts import Facts

# What begins so may be a number, a date or a time to some reader.
DOUBTFUL = frozenset("0123456789+-.")


def facts_tree(facts: Facts, reading: ModelReading | None = None) -> dict[str, Any]:
    """The document as a tree: known facts only, then what memory fit needs of the model folder."""
    tree: dict[str, Any] = {"schema": "facts/1", **facts.model_dump(mode="json", exclude_none=True)}
    if reading is not None:
        tree["model"] = {**tree["model"], **reading.facts.model_dump(mode="json", exclude_none=True)}
        tree["checkpoint"] = reading.checkpoint.model_dump(mode="json", exclude_defaults=True)
    if not tree["model"]:
        del tree["model"]
    return tree


def facts_json(tree: dict[str, Any]) -> str:
    """The document as JSON."""
    return json.dumps(tree, indent=2)


def facts_yaml(tree: dict[str, Any], notes: tuple[str, ...] = ()) -> str:
    """The document as YAML, its notes as comments on top."""
    head = "".join(f"# note: {' '.join(note.split())}\n" for note in notes)
    text = yaml.dump(tree, Dumper=_Dumper, sort_keys=False, default_flow_style=None, width=120, allow_unicode=True)
    return head + text.rstrip("\n")


class _Dumper(yaml.SafeDumper):
    """Quotes every text that could be taken for something else."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = "'" if text[:1] in DOUBTFUL else None
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


_Dumper.add_representer(str, _text)
