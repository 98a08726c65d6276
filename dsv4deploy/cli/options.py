"""Options that several commands share, so that they are named and explained once."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"


ProfilePath = Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile, a YAML file.")]
Variants = Annotated[
    list[str], typer.Option("--variant", metavar="NAME", help="Lay this variant over the profile; repeatable.")
]
Sets = Annotated[
    list[str],
    typer.Option("--set", metavar="PATH=VALUE", help="Set one value, memory.fraction_static=0.6; repeatable."),
]
FactsPath = Annotated[
    Path | None, typer.Option("--facts", metavar="FILE", help="Facts of the node and model, YAML or JSON.")
]
Waive = Annotated[
    list[str], typer.Option("--waive", metavar="RULE=REASON", help="Allow this rule once, with a reason; repeatable.")
]
OutputFormat = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]
