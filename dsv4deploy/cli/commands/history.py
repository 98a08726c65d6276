"""Show what was done to each deployment on each node, and which releases are kept there.

Example: dsv4deploy history -i gpu.ini --limit gpu01
"""

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Observe"
ORDER = 3


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import sys

    from dsv4deploy.cli import serving
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.views import serving as view

    seen = serving.seen(options)
    chosen = serving.meant(seen, name)
    answers = serving.ask(options, [node for node, _, _ in serving.deployments(seen, chosen)], "history", chosen)
    told = {node: dict(event.answer) for node, event in answers.items()}
    lost = serving.unreachable(seen)
    if output_format is Format.JSON:
        sys.stdout.write(serving.machine("history/1", {"name": chosen, "nodes": told, "unreachable": lost}))
    else:
        sys.stdout.write(view.history(told) + "".join(f"{line}\n" for line in lost))
    return Exit.APPLY_FAILED if lost else Exit.FINE
