"""Go back to the release that was healthy before, or to the one named; it is judged like a new one.

Example: dsv4deploy rollback -i gpu.ini --to 3f9c1a
"""

from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Name, Nodes, Serial, Yes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Deploy"
ORDER = 3


@on_nodes
def command(
    *,
    options: Nodes,
    name: Name = None,
    to: Annotated[
        str | None, typer.Option("--to", metavar="DIGEST", help="The release, or the beginning of its digest.")
    ] = None,
    yes: Yes = False,
    serial: Serial = "1,50%",
    output_format: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import applying, serving
    from dsv4deploy.model.plan import Action, Plan
    from dsv4deploy.model.trouble import Exit

    seen = serving.seen(options)
    chosen = serving.meant(seen, name)
    plan = Plan(serving.steps(seen, chosen, Action.RESTART))
    if not applying.agreed(plan, yes=yes):
        print("Nothing was changed.")
        return Exit.FINE
    variables = {"dsv4_name": chosen, "dsv4_digest": to or "", "dsv4_serial": applying.batches(serial)}
    by_node: dict[str, dict[str, object]] = {step.node: {} for step in plan.work}
    code = applying.run("rollback", options, plan.work, by_node, variables, as_json=output_format is Format.JSON)
    for line in serving.unreachable(seen):
        print(line)
    return max(code, Exit.APPLY_FAILED if plan.refused else Exit.FINE)
