"""Write the engineering report of a project: stacks, what was tried, dead ends, known-bad matrix, trials, open questions.

It is made from the records of experiments, bisections, applies and marks, for somebody who was not there. The records
stay where they are and are in no git; the report is one Markdown file that can be.

    dsv4deploy report
    dsv4deploy report --project ~/flash -o docs/campaign.md
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 25


def command(
    project: Annotated[Path, typer.Option("--project", metavar="DIR", help="Folder of the profile.")] = Path(),
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="FILE", help="Where to write it; to the screen if left out."),
    ] = None,
    form: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy import __version__
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim.campaign import campaign
    from dsv4deploy.views import report as view

    if not project.is_dir():
        raise Trouble(f"there is no folder {project}", "--project is the folder of the profile", Exit.USAGE)
    found = campaign(project)
    text = view.machine(found) if form is Format.JSON else view.report(found, __version__)
    if output is None:
        print(text, end="")
        return Exit.FINE
    try:
        output.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Trouble(f"{output} cannot be written: {error.strerror}", f"look: ls -ld {output.parent}") from None
    print(f"{output}: {view.size(found)}")
    return Exit.FINE
