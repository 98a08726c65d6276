"""Show what is known of a model folder, as a document for `--facts`.

Reads configuration, index and safetensors headers; never a tensor.

Example: dsv4deploy facts /models/DeepSeek-V4-Flash > facts.yaml
"""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

GROUP = "Observe"


class Format(StrEnum):
    """How the document is written."""

    YAML = "yaml"
    JSON = "json"


def command(
    model_folder: Annotated[Path, typer.Argument(help="The folder that holds config.json and the weight files.")],
    output: Annotated[Format, typer.Option("--format", help="How the document is written.")] = Format.YAML,
) -> int:
    """Read the folder and print its facts."""
    import sys

    from dsv4deploy.model.facts import Facts
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim.local_folder import LocalFolder
    from dsv4deploy.source.model_folder import read_model_folder
    from dsv4deploy.views.facts import facts_json, facts_tree, facts_yaml

    reading = read_model_folder(LocalFolder(model_folder))
    tree = facts_tree(Facts(), reading)
    if output is Format.JSON:
        print(facts_json(tree))
        for note in reading.notes:
            print(f"note: {note}", file=sys.stderr)
    else:
        print(facts_yaml(tree, reading.notes))
    return Exit.FINE
