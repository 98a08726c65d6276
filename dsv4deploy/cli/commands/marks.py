"""List, show, retire and export marks: combinations that failed on a real stack.

`apply` writes them, one file each in `marks/` beside the profile, and `validate`, `plan` and `apply` refuse what they
cover. Marks of rehearsals stand in `.dsv4deploy/rehearsal-marks/`, and speak only about rehearsals.

Example: dsv4deploy marks list
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.completing import mark_names
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Knowledge"

app = typer.Typer(no_args_is_help=True)

Project = Annotated[Path, typer.Option("--project", metavar="DIR", help="Folder of the profile.")]
MarkName = Annotated[
    str, typer.Argument(metavar="MARK", autocompletion=mark_names, help="Id of the mark, or how it begins.")
]


@app.command("list")
def show_all(
    project: Project = Path(),
    output: OutputFormat = Format.TEXT,
) -> int:
    """List all marks of a project, the newest first.

    dsv4deploy marks list --project ~/flash
    """
    import json

    from dsv4deploy.cli.house import marks_of
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.views import marks as view

    found = sorted((mark for _, mark in marks_of(project)), key=lambda mark: mark.last.at, reverse=True)
    print(json.dumps(view.machine(found), indent=2) if output is Format.JSON else view.table(found))
    return Exit.FINE


@app.command()
def show(
    mark: MarkName,
    project: Project = Path(),
    output: OutputFormat = Format.TEXT,
) -> int:
    """Show one mark: what failed, where, how often, and what exactly it covers.

    dsv4deploy marks show stream-capture-flash-1a2b3c4d
    """
    import json

    from dsv4deploy.cli.house import the_mark
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.views import marks as view

    path, found = the_mark(project, mark)
    print(json.dumps(view.machine([found]), indent=2) if output is Format.JSON else view.page(found, str(path)))
    return Exit.FINE


@app.command()
def retire(
    mark: MarkName,
    because: Annotated[str, typer.Option("--because", metavar="REASON", help="Why it holds no more.")],
    project: Project = Path(),
) -> int:
    """Let a mark count no more; its file stays, with the reason, until the same failure is seen again.

    dsv4deploy marks retire stream-capture-flash-1a2b3c4d --because "fixed by the new kernel package"
    """
    from datetime import UTC, datetime

    from dsv4deploy.cli.house import the_mark
    from dsv4deploy.model.mark import Retired
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim import marks

    path, found = the_mark(project, mark)
    if found.retired:
        told = f"{found.id} counts no more since {found.retired.at}: {found.retired.because}"
        raise Trouble(told, f"dsv4deploy marks show {found.id}", Exit.USAGE)
    retired = Retired(at=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}", because=because)
    marks.write(found.model_copy(update={"retired": retired}), path)
    print(f"{path}: counts no more")
    return Exit.FINE


@app.command()
def export(
    mark: MarkName,
    project: Project = Path(),
) -> int:
    """Print one mark as it stands in its file, for a bug report; it holds no secret.

    dsv4deploy marks export stream-capture-flash-1a2b3c4d > report.yaml
    """
    import sys

    from dsv4deploy.cli.house import the_mark
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim import marks

    sys.stdout.write(marks.text(the_mark(project, mark)[1]))
    return Exit.FINE
