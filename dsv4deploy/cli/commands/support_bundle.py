"""Collect what a helper asks for first about one node: profile, release, launch, versions, topology, last log lines.

The archive holds no secret: values of keys, tokens and passwords are hidden on the node and once more here.

Example: dsv4deploy support-bundle gpu01 -i gpu.ini
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Name, Reach, on_one_node

GROUP = "Diagnose"
ORDER = 50


@on_one_node
def command(
    node: Annotated[str, typer.Argument(metavar="NODE", help="As the inventory names it.")],
    *,
    reach: Reach,
    name: Name = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="The archive; NODE-NAME.tar.gz if left out.")
    ] = None,
    lines: Annotated[
        int, typer.Option("-n", "--lines", metavar="N", min=1, help="How many of the last log lines.")
    ] = 300,
) -> int:
    from dataclasses import replace

    from dsv4deploy.cli import fleet, house, serving
    from dsv4deploy.model.event import Kind
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim import archive, marks
    from dsv4deploy.views.support import files

    options = replace(reach, limit=node).options()
    chosen = serving.meant(serving.seen(options), name)
    event = serving.ask(options, [node], "bundle", chosen, dsv4_lines=lines).get(node)
    if event is None or event.kind is not Kind.OK:
        raise Trouble(f"{node}: {fleet.reason(event) if event else 'no answer'}", code=Exit.APPLY_FAILED)
    beside = {path.name: marks.text(mark) for path, mark in house.marks_of(Path()) if mark.name == chosen}
    path = output or Path(f"{node}-{chosen}.tar.gz")
    archive.write(path, f"{node}-{chosen}", files(event.answer["told"], str(event.answer["digest"]), beside))
    print(f"{path}: read it before you pass it on")
    return Exit.FINE
