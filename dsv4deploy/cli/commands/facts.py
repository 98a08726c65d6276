"""Show what is known of a model folder or of the nodes of an inventory, as a document for `--facts`.

Of a model folder it reads configuration, index and safetensors headers, never a tensor; of a node, cards, host and
network.

Example: dsv4deploy facts /models/DeepSeek-V4-Flash > facts.yaml
"""

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dsv4deploy.cli.fleet_options import Reach, if_on_nodes

if TYPE_CHECKING:
    from dsv4deploy.model.facts import Facts

GROUP = "Observe"


class Format(StrEnum):
    """How the document is written."""

    YAML = "yaml"
    JSON = "json"


@if_on_nodes
def command(
    model_folder: Annotated[
        Path | None, typer.Argument(help="The folder that holds config.json and the weight files.")
    ] = None,
    output: Annotated[Format, typer.Option("--format", help="How the document is written.")] = Format.YAML,
    *,
    reach: Reach,
) -> int:
    """Read the folder or the nodes, and print their facts."""
    from dsv4deploy.cli import fleet
    from dsv4deploy.model.trouble import Exit, Trouble

    if model_folder is not None and not reach.inventory:
        return _of_folder(model_folder, output)
    if model_folder is not None:
        raise Trouble("a model folder and an inventory at once", "ask for one of them", Exit.USAGE)
    return _of_nodes(fleet.everything(reach.options()), output)


def _of_folder(model_folder: Path, output: Format) -> int:
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


def _of_nodes(seen: "dict[str, Facts | str]", output: Format) -> int:
    """One document a node, each on its own usable with `--facts`."""
    import json

    from dsv4deploy.model.facts import Facts
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.views.facts import facts_tree, facts_yaml

    trees = {node: facts_tree(facts) for node, facts in seen.items() if isinstance(facts, Facts)}
    lost = {node: why for node, why in seen.items() if isinstance(why, str)}
    if output is Format.JSON:
        print(json.dumps({"schema": "node-facts/1", "nodes": trees, "unreachable": lost}, indent=2))
    else:
        print("\n---\n".join(facts_yaml(tree, (node,)).replace("# note: ", "# ", 1) for node, tree in trees.items()))
        for node, why in lost.items():
            print(f"# {node}: unreachable: {why}")
    return Exit.APPLY_FAILED if lost else Exit.FINE
