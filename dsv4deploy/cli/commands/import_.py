"""Turn a launch script, docker run line, Compose file, systemd unit or JSON argv into a profile.

Example: dsv4deploy import serve.sh --engine 0.5.21 -o profile.yaml
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import CallerSets, Format, OutputFormat

GROUP = "Check"
ORDER = 3


def command(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The launch file.")],
    *,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Where to write; the terminal if left out.")
    ] = None,
    engine: Annotated[
        str | None, typer.Option("--engine", metavar="VERSION", help="SGLang release that it starts.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--command", metavar="N", help="Which start, if the file has several.")
    ] = None,
    name: Annotated[str | None, typer.Option("--name", help="Name of the server.")] = None,
    venv: Annotated[str | None, typer.Option("--venv", metavar="DIR", help="Virtual environment on the node.")] = None,
    env: CallerSets = [],  # noqa: B006 (typer copies it)
    folder: Annotated[str, typer.Option("--folder", metavar="DIR", help="Where the file lies on the node.")] = "",
    form: OutputFormat = Format.TEXT,
) -> int:
    import sys

    from dsv4deploy.cli import house
    from dsv4deploy.cli.options import pairs
    from dsv4deploy.flags import history
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.history import UnknownVersionError
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim.texts import Files, write_new
    from dsv4deploy.source.launch_file import imported
    from dsv4deploy.stages import imported_launch, imported_profile
    from dsv4deploy.views import imported as views
    from dsv4deploy.views import profile_text

    try:
        read = imported(Files(), str(file), pairs(env), folder)
    except Refused as refused:
        return house.show_refusal(refused, as_json=form is Format.JSON)
    if form is Format.JSON:
        sys.stdout.write(views.as_json(read))
        return Exit.FINE
    start = imported_launch.chosen(read, number)
    version = engine or imported_profile.version_in_image(start)
    if version is None:
        remedy = (
            f"--engine VERSION; {imported_launch.fitting(start, history())} has the fewest objections to its arguments"
        )
        raise Trouble(f"{file} does not say which SGLang it starts", remedy, Exit.USAGE)
    try:
        catalogue = history().at(version)
    except UnknownVersionError as unknown:
        raise Trouble(str(unknown), f"--engine {unknown.nearest}", Exit.USAGE) from None
    draft = imported_profile.draft(read, start, catalogue, name=name, venv=venv)
    text = profile_text.render(draft, str(file))
    if output is None:
        sys.stdout.write(text)
    else:
        write_new(output, text)
        print(views.summary(draft, str(output)))
    return Exit.FINE
