"""Start the current release of a deployment on every node.

Example: dsv4deploy start -i gpu.ini --name flash
"""

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Deploy"
ORDER = 5


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import serving

    return serving.act(options, name, "start", "started", as_json=output_format is Format.JSON)
