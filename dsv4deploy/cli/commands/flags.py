"""Show the flags and variables of SGLang releases, or read those of a fork.

Without a name, all of one release; with a name or a part of one, what is known of it over all releases.

Example: dsv4deploy flags --cuda-graph-max-bs --engine 0.5.13.post1
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.groups import ShowsByDefault
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Knowledge"


app = typer.Typer(cls=ShowsByDefault)


@app.command(context_settings={"ignore_unknown_options": True}, hidden=True)
def show(
    name: Annotated[str, typer.Argument(help="A flag or variable, or a part of its name.")] = "",
    engine: Annotated[str, typer.Option(metavar="VERSION", help="The SGLang release; the newest if not given.")] = "",
    catalogue: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A catalogue that `flags extract` wrote, instead of a release.")
    ] = None,
    output: OutputFormat = Format.TEXT,
) -> int:
    """Show one flag or variable, or all of a release."""
    import json

    from dsv4deploy.flags import history
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim.catalogue_file import read_catalogue, release
    from dsv4deploy.source.flag_search import found
    from dsv4deploy.views.flags import flag_page, flags_data, flags_table

    known = history()
    chosen = read_catalogue(catalogue) if catalogue else release(engine)
    names = found(name, chosen, known)
    data = flags_data(names, chosen, known)
    if output is Format.JSON:
        print(json.dumps(data, indent=2, ensure_ascii=False))
    elif len(names) == 1:
        print(flag_page([*data["flags"], *data["variables"]][0], chosen.version), end="")
    else:
        print(flags_table(data), end="")
    return Exit.FINE


@app.command()
def extract(
    package: Annotated[
        Path,
        typer.Argument(
            metavar="WHEEL|VENV|DIR", help="A wheel, a virtual environment, a checkout or an unpacked folder."
        ),
    ],
    file: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; standard output if not given.")
    ] = None,
    version: Annotated[str, typer.Option("--as", metavar="VERSION", help="The version to call it.")] = "",
) -> int:
    """Read the flags of a fork or a development build, for a profile's `engine.catalogue`.

    Nothing of the package is imported or run.

    Example: dsv4deploy flags extract /opt/sglang/venv -o sglang-fork.json
    """
    import sys

    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim.catalogue_file import catalogue_text, extracted, write

    catalogue, problems = extracted(package, version or None)
    for problem in problems:
        print(f"warning: not understood: {problem}", file=sys.stderr)
    text = catalogue_text(catalogue)
    if file is None:
        print(text, end="")
    else:
        write(file, text.encode())
        print(
            f"{file}: SGLang {catalogue.version} (flags: {len(catalogue.flags)}, variables: {len(catalogue.variables)})"
        )
    return Exit.FOUND if problems else Exit.FINE


@app.command(hidden=True)
def merge(
    overlay: Annotated[Path, typer.Argument(help="The folder of YAML files with what no wheel says.")],
    file: Annotated[Path, typer.Argument(help="The data file to write.")],
    wheels: Annotated[
        Path | None, typer.Option(help="A folder with the wheels of all releases; without it, only the overlay is new.")
    ] = None,
) -> int:
    """Make the data file of the `flags` room anew, from wheels and overlay."""
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim.catalogue_file import history_bytes, with_overlay, write

    content = (
        history_bytes(sorted(wheels.glob("*.whl")), overlay) if wheels else with_overlay(file.read_bytes(), overlay)
    )
    write(file, content)
    print(f"{file}: {len(content)} bytes")
    return Exit.FINE
