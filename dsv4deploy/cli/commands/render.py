"""Write the serve script, environment file, systemd unit and manifest of a profile.

Example: dsv4deploy render profile.yaml -o out --diff previous
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import FactsPath, ProfilePath, Sets, Variants, Waive

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
) -> int:
    import sys

    from dsv4deploy.cli import house
    from dsv4deploy.flow import looked_at
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim import bundles
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.views import differences

    if (output is not None) + (stdout is not None) + (diff is not None) > 1:
        raise Trouble("-o, --stdout and --diff are three different questions", "ask one at a time", Exit.USAGE)
    try:
        looked = looked_at(Files(), house.knowledge(profile), house.asked(profile, variant, sets, facts, waive))
    except Refused as refused:
        return house.show_refusal(refused, as_json=False)
    if looked.report.blocks:
        house.show(looked.report, looked.sources, as_json=False, fine="")
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
        names = "  ".join(artifact.path for artifact in bundle.files)
        print(f"{folder}: {names}\nrelease {bundle.digest[:12]}")
    return Exit.FINE
