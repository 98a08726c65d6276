"""Show what an apply would change on each node, and why; nothing is touched.

Example: dsv4deploy plan -i gpu.ini
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Checksums, Nodes, OptionalProfile, on_nodes
from dsv4deploy.cli.options import Format, OutputFormat, Retry, Sets, Variants, Waive

GROUP = "Deploy"
ORDER = 1


@on_nodes
def command(
    profile: OptionalProfile = None,
    *,
    options: Nodes,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    waive: Waive = [],  # noqa: B006 (likewise)
    retry: Retry = [],  # noqa: B006 (likewise)
    detailed_exitcode: Annotated[
        bool, typer.Option("--detailed-exitcode", help="End with 10 if there are changes.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Keep the plan for apply --plan.")
    ] = None,
    checksums: Checksums = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import sys

    from dsv4deploy.cli import house, planning
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim import plan_file, scratch
    from dsv4deploy.views import plan as view

    as_json = output_format is Format.JSON
    with scratch.folder("bundles") as folder:
        try:
            ready = planning.ready(
                folder,
                options,
                profile,
                variants=variant,
                sets=sets,
                waive=waive,
                retry=retry,
                checksums=checksums,
                as_json=as_json,
            )
        except Refused as refused:
            return house.show_refusal(refused, as_json=as_json)
        if output:
            plan_file.write(output, ready.plan, ready.wanted, ready.folders)
    sys.stdout.write(view.machine(ready.plan) if as_json else view.render(ready.plan))
    if output and not as_json:
        sys.stdout.write(f"{output}: dsv4deploy apply --plan {output} does exactly this\n")
    if ready.refused_code:
        return ready.refused_code
    return Exit.CHANGES if detailed_exitcode and ready.plan.work else Exit.FINE
