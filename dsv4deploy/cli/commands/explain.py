"""Explain a rule, a mark, an error class, a flag, a variable or a key of the profile.

Example: dsv4deploy explain torch-compile-in-capture-dsv4
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.completing import rule_names
from dsv4deploy.cli.groups import ShowsByDefault

GROUP = "Knowledge"
ORDER = 1

app = typer.Typer(cls=ShowsByDefault)


@app.command(context_settings={"ignore_unknown_options": True}, hidden=True)
def show(
    name: Annotated[
        str,
        typer.Argument(
            metavar="RULE|mark:MARK|CLASS|FLAG|VARIABLE|KEY",
            help="What stands in the brackets, or a name.",
            autocompletion=rule_names,
        ),
    ],
    rules: Annotated[
        Path | None, typer.Option("--rules", metavar="DIR", help="A team's own rules; ./rules if it is there.")
    ] = None,
) -> int:
    """Print the page of a name."""
    from dsv4deploy.cli.explained import explained
    from dsv4deploy.model.trouble import Exit

    own = rules or (Path("rules") if Path("rules").is_dir() else None)
    print(explained(name, own), end="")
    return Exit.FINE
