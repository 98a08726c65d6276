"""Write the serve script, environment file, systemd unit and manifest of a profile.

Example: dsv4deploy render profile.yaml -o out --diff previous
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import FactsPath, Format, OutputFormat, ProfilePath, Sets, Variants, Waive

GROUP = "Render"
ORDER = 1


def command(
    profile: ProfilePath,
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="DIR", help="Where to write; ./rendered/NAME if left out.")
    ] = None,
    stdout: Annotated[
        str | None, typer.Option("--stdout", metavar="FILE", help="Print one file instead of writing.")
    ] = None,
    diff: Annotated[
        Path | None, typer.Option("--diff", metavar="DIR", help="Show what differs from the bundle in DIR instead.")
    ] = None,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    facts: FactsPath = None,
    waive: Waive = [],  # noqa: B006 (likewise)
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import json
    import sys

    from dsv4deploy.cli import house
    from dsv4deploy.flow import looked_at
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim import bundles
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.views import differences

    as_json = output_format is Format.JSON
    if (output is not None) + (stdout is not None) + (diff is not None) > 1:
        raise Trouble("-o, --stdout and --diff are three different questions", "ask one at a time", Exit.USAGE)
    try:
        looked = looked_at(Files(), house.knowledge(profile), house.asked(profile, variant, sets, facts, waive))
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    if looked.report.blocks:
        house.show(looked.report, looked.sources, as_json=as_json, fine="")
        if not as_json:
            print("Nothing was rendered.")
        return Exit.FOUND
    bundle = house.bundle(looked)
    if diff:
        sys.stdout.write(differences.render(bundles.read(diff), bundle))
    elif stdout:
        sys.stdout.buffer.write(house.artifact(bundle, stdout).text)
    else:
        folder = output or Path("rendered") / bundle.name
        bundles.write(bundle, folder)
        names = [artifact.path for artifact in bundle.files]
        told = {"schema": "render/1", "folder": str(folder), "files": names, "release": bundle.digest}
        print(json.dumps(told) if as_json else f"{folder}: {'  '.join(names)}\nrelease {bundle.digest[:12]}")
    return Exit.FINE
