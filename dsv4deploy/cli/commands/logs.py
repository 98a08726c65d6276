"""Show the last lines of the log of a deployment on each node; with -f, go on until Ctrl-C.

Example: dsv4deploy logs -i gpu.ini -f --since 15m
"""

from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Name, Nodes, on_nodes

GROUP = "Observe"
ORDER = 2
_USUAL, _ALL = 100, 100_000


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    lines: Annotated[
        int | None,
        typer.Option(
            "-n", "--lines", metavar="N", min=1, help="How many lines of each node; 100, or all with --since."
        ),
    ] = None,
    since: Annotated[
        str | None, typer.Option("--since", metavar="SPAN", help="Only what was written since: 30s, 15m, 2h, 1d ago.")
    ] = None,
    follow: Annotated[bool, typer.Option("-f", "--follow", help="Go on with what is written, until Ctrl-C.")] = False,
) -> int:
    from dsv4deploy.cli import fleet, following, serving
    from dsv4deploy.model.event import Kind
    from dsv4deploy.model.trouble import Exit

    since_s = following.seconds(since) if since else 0
    count = lines or (_ALL if since else _USUAL)
    seen = serving.seen(options)
    chosen = serving.meant(seen, name)
    nodes = [node for node, _, _ in serving.deployments(seen, chosen)]
    lost = serving.unreachable(seen)
    for line in lost:
        print(line)
    if follow:
        return max(following.follow(options, nodes, chosen, count, since_s), Exit.APPLY_FAILED if lost else Exit.FINE)
    asked = serving.ask(options, nodes, "logs", chosen, dsv4_lines=count, dsv4_since_s=since_s)
    for node, event in asked.items():
        if event.kind is Kind.OK:
            following.show(nodes, node, event.answer.get("lines") or ())
        else:
            lost.append(f"{node}  {chosen}  failed: {fleet.reason(event)}")
            print(lost[-1])
    return Exit.APPLY_FAILED if lost else Exit.FINE
