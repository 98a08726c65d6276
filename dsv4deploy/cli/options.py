"""Options that several commands share, so that they are named and explained once."""

from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.completing import mark_names, variant_names


class Format(StrEnum):
    """How an answer is printed."""

    TEXT = "text"
    JSON = "json"


ProfilePath = Annotated[Path, typer.Argument(metavar="PROFILE", help="The profile, a YAML file.")]
Variants = Annotated[
    list[str],
    typer.Option(
        "--variant",
        metavar="NAME",
        help="Lay this variant over the profile; repeatable.",
        autocompletion=variant_names,
    ),
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
Retry = Annotated[
    list[str],
    typer.Option(
        "--retry", metavar="MARK", autocompletion=mark_names, help="Try what this mark says once more; repeatable."
    ),
]
OutputFormat = Annotated[Format, typer.Option("--format", help="text for people, json for programs.")]
CallerSets = Annotated[
    list[str],
    typer.Option("--env", metavar="NAME=VALUE", help="A variable that the caller of a launch file sets; repeatable."),
]


def pairs(texts: Sequence[str]) -> dict[str, str]:
    """`NAME=VALUE` texts as a mapping.

    Raises:
        Trouble: one of them is none.
    """
    found = [text.partition("=") for text in texts]
    for text, (name, equals, _) in zip(texts, found, strict=True):
        if not equals or not name.isidentifier():
            from dsv4deploy.model.trouble import Exit, Trouble

            raise Trouble(f"--env {text} is no NAME=VALUE", "--env MODEL=/models/x", Exit.USAGE)
    return {name: value for name, _, value in found}
