"""Show what takes effect of a profile: every setting as written, as the engine ends up with it, and why.

With `--memory`: how the memory of one rank is spent, each term with its source and how sure it is. The model's files are
read if the profile's model path is on this machine; else `--facts` carries them from where they are.

Example: dsv4deploy effective profile.yaml --memory
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import FactsPath, Format, OutputFormat, ProfilePath, Sets, Variants

GROUP = "Check"
ORDER = 2


def command(
    profile: ProfilePath,
    *,
    memory: Annotated[bool, typer.Option("--memory", help="Show the memory account instead.")] = False,
    log: Annotated[
        Path | None,
        typer.Option("--log", metavar="FILE", help="Log of a start on that node; what it measured replaces estimates."),
    ] = None,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    facts: FactsPath = None,
    output: OutputFormat = Format.TEXT,
) -> int:
    import json
    from dataclasses import replace

    from dsv4deploy.cli import house
    from dsv4deploy.flow import looked_at
    from dsv4deploy.model.diagnostic import Refused, Report
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.source.measured_start import measured_start
    from dsv4deploy.views.effective import effective_table, effective_tree
    from dsv4deploy.views.memory import memory_table, memory_tree

    as_json = output is Format.JSON
    try:
        asked = house.asked(profile, variant, sets, facts, [])
        measured = measured_start(Files().read(str(log)).decode(errors="replace")) if log else None
        seen = looked_at(Files(), house.knowledge(profile), replace(asked, measured=measured))
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    if not memory:
        print(json.dumps(effective_tree(seen.effective), indent=2) if as_json else effective_table(seen.effective))
        return Exit.FINE
    told = Report(seen.memory.diagnostics)
    if as_json:
        print(json.dumps(memory_tree(seen.memory), indent=2))
        return Exit.FOUND if told.blocks else Exit.FINE
    print(memory_table(seen.memory))
    if not told.diagnostics:
        return Exit.FINE
    print(flush=True)
    return house.show(told, seen.sources, as_json=False, fine="")
