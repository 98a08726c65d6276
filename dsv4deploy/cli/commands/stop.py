"""Stop a deployment on every node; the leader is signalled, and running requests may finish.

Example: dsv4deploy stop -i gpu.ini --name flash
"""

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes

GROUP = "Deploy"
ORDER = 6


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
) -> int:
    from dsv4deploy.cli import serving

    return serving.act(options, name, "stop", "stopped")
