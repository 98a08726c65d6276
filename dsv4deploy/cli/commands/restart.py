"""Restart a deployment on every node.

Example: dsv4deploy restart -i gpu.ini --name flash
"""

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Deploy"
ORDER = 7


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import serving

    return serving.act(options, name, "restart", "restarted", as_json=output_format is Format.JSON)
