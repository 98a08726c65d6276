"""Restart a deployment on every node.

Example: dsv4deploy restart -i gpu.ini --name flash
"""

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes

GROUP = "Deploy"
ORDER = 7


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
) -> int:
    from dsv4deploy.cli import serving

    return serving.act(options, name, "restart", "restarted")
