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
    import sys

    from dsv4deploy.cli import applying, fleet, serving
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.stages.outcome import code, passed_over
    from dsv4deploy.stages.rollback import rollback
    from dsv4deploy.views import plan as view

    as_json = output_format is Format.JSON
    batches = applying.batches(serial)
    seen = serving.seen(options)
    chosen, gone = serving.meant(seen, name), fleet.gone_from(seen)
    plan = rollback(chosen, seen, to, gone=gone)
    sys.stdout.write(view.line(plan) if as_json else view.render(plan))
    if not plan.work:
        return code(passed_over(plan.refused))
    if not applying.agreed(plan, yes=yes):
        sys.stdout.write("Nothing was changed.\n")
        return Exit.FINE
    variables = {"dsv4_name": chosen, "dsv4_digest": to or "", "dsv4_serial": batches}
    by_node: dict[str, dict[str, object]] = {step.node: {} for step in plan.work}
    return applying.run("rollback", options, plan, by_node, variables, gone=gone, as_json=as_json)
