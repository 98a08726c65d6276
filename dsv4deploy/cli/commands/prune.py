"""Remove old releases from the nodes; the current one, and one that a trial may go back to, always stay.

Example: dsv4deploy prune -i gpu.ini --keep 2
"""

from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Deploy"
ORDER = 8


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, help="How many releases stay.")] = 5,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import serving

    return serving.act(options, name, "prune", "pruned", as_json=output_format is Format.JSON, dsv4_keep=keep)
