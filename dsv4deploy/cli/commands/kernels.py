"""Install, prove and undo patched kernels: on this machine from a rendered bundle, or on the nodes of an inventory.

dsv4deploy kernels list profile.yaml
dsv4deploy kernels install rendered/flash        (apply does this on the nodes)
dsv4deploy kernels verify rendered/flash
dsv4deploy kernels status -i gpu.ini
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Name, Reach, if_on_nodes
from dsv4deploy.cli.options import Format, OutputFormat, ProfilePath, Sets, Variants

GROUP = "Deploy"

BundlePath = Annotated[
    Path | None, typer.Argument(metavar="BUNDLE", help="A rendered bundle, or a release on this machine.")
]
Venv = Annotated[
    Path | None, typer.Option("--venv", metavar="DIR", help="This venv, instead of the one that the bundle names.")
]

app = typer.Typer(no_args_is_help=True)


@app.command("list")
def list_(
    profile: ProfilePath,
    *,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
) -> int:
    """Show the patches that a profile names."""
    import sys

    from dsv4deploy.cli import house
    from dsv4deploy.flow import looked_at
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.views import kernels

    try:
        looked = looked_at(Files(), house.knowledge(profile), house.asked(profile, variant, sets, None, ()))
    except Refused as refused:
        return house.show_refusal(refused, as_json=False)
    sys.stdout.write(kernels.listed(looked.patches))
    return house.show(looked.report, looked.sources, as_json=False, fine=f"{profile}: fine")


@app.command()
def install(bundle: BundlePath = None, *, venv: Venv = None, output: OutputFormat = Format.TEXT) -> int:
    """Lay the patches of a bundle, so that its serve.sh can be started by hand; twice changes nothing."""
    from dsv4deploy.cli import patching

    return patching.install(bundle, venv, as_json=output is Format.JSON)


@app.command()
@if_on_nodes
def status(
    bundle: BundlePath = None,
    *,
    venv: Venv = None,
    reach: Reach,
    name: Name = None,
    output: OutputFormat = Format.TEXT,
) -> int:
    """Compare every patched file with its digest: patched, pristine, drifted, overwritten by an upgrade."""
    from dsv4deploy.cli import patching

    fleet = patching.Fleet(reach, name)
    return patching.look("status", bundle, venv, fleet, as_json=output is Format.JSON)


@app.command()
@if_on_nodes
def verify(
    bundle: BundlePath = None,
    *,
    venv: Venv = None,
    reach: Reach,
    name: Name = None,
    output: OutputFormat = Format.TEXT,
) -> int:
    """Import the patched modules as the service would, and see that they come from the patched place."""
    from dsv4deploy.cli import patching

    fleet = patching.Fleet(reach, name)
    return patching.look("verify", bundle, venv, fleet, as_json=output is Format.JSON)


@app.command()
@if_on_nodes
def revert(
    bundle: BundlePath = None,
    *,
    venv: Venv = None,
    reach: Reach,
    name: Name = None,
    output: OutputFormat = Format.TEXT,
) -> int:
    """Undo the patches of a bundle, or whatever was patched in place in --venv; the venv is then as it was."""
    from dsv4deploy.cli import patching

    fleet = patching.Fleet(reach, name)
    return patching.revert(bundle, venv, fleet, as_json=output is Format.JSON)
