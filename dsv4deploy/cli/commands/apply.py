"""Bring every node of an inventory to what its profile says: planned, judged, and undone if it is not healthy.

One node goes first (the canary), then the rest in batches; a failed batch ends it, and the others keep serving.

Example: dsv4deploy apply -i gpu.ini --limit gpu01
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Checksums, Nodes, OptionalProfile, Serial, Yes, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat, Retry, Sets, Variants, Waive

GROUP = "Deploy"
ORDER = 2


@on_nodes
def command(
    profile: OptionalProfile = None,
    *,
    options: Nodes,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    waive: Waive = [],  # noqa: B006 (likewise)
    retry: Retry = [],  # noqa: B006 (likewise)
    plan: Annotated[
        Path | None, typer.Option("--plan", metavar="FILE", help="Apply exactly what plan -o wrote.")
    ] = None,
    yes: Yes = False,
    serial: Serial = "1,50%",
    take_over: Annotated[
        bool, typer.Option("--take-over", help="Overwrite files that dsv4deploy did not write.")
    ] = False,
    drain: Annotated[
        str, typer.Option("--drain", metavar="CMD", help="Command on this machine before a node is touched.")
    ] = "",
    undrain: Annotated[
        str, typer.Option("--undrain", metavar="CMD", help="Command on this machine once it is ready.")
    ] = "",
    keep: Annotated[int, typer.Option("--keep", metavar="N", min=1, help="How many releases a node keeps.")] = 5,
    checksums: Checksums = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import sys

    from dsv4deploy.cli import applying, house, planning, remembering
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim import plan_file, scratch
    from dsv4deploy.views import plan as view

    as_json = output_format is Format.JSON
    batches = applying.batches(serial)
    if plan and (profile or variant or sets or waive):
        raise Trouble(
            "--plan applies exactly what was planned", "leave out PROFILE, --variant, --set and --waive", Exit.USAGE
        )
    with scratch.folder("bundles") as folder:
        try:
            ready = (
                planning.planned_before(
                    plan_file.read(plan, folder), options, retry=retry, take_over=take_over, checksums=checksums
                )
                if plan
                else planning.ready(
                    folder,
                    options,
                    profile,
                    variants=variant,
                    sets=sets,
                    waive=waive,
                    retry=retry,
                    take_over=take_over,
                    checksums=checksums,
                    as_json=as_json,
                )
            )
        except Refused as refused:
            return house.show_refusal(refused, as_json=as_json)
        sys.stdout.write(view.line(ready.plan) if as_json else view.render(ready.plan))
        if not ready.plan.work:
            return ready.refused_code
        if not applying.agreed(ready.plan, yes=yes):
            sys.stdout.write("Nothing was changed.\n")
            return Exit.FINE
        variables = {
            "dsv4_serial": batches,
            "dsv4_take_over": take_over,
            "dsv4_drain": drain,
            "dsv4_undrain": undrain,
            "dsv4_keep": keep,
        }
        by_node = ready.by_node(ready.plan.work)
        return applying.run(
            "apply",
            options,
            ready.plan,
            by_node,
            variables,
            gone=ready.gone,
            as_json=as_json,
            remember=remembering.Memory(ready.asked, ready.looked),
        )
