"""Show what takes effect of a profile: every setting as written, as the engine ends up with it, and why.

With `--memory`: how the memory of one rank is spent, each term with its source and how sure it is.

Example: dsv4deploy effective profile.yaml --memory --model-folder /models/DeepSeek-V4-Flash
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import FactsPath, Format, OutputFormat, ProfilePath, Sets, Variants

GROUP = "Check"
ORDER = 2


def command(
    profile: ProfilePath,
    *,
    memory: Annotated[bool, typer.Option("--memory", help="Show the memory account instead.")] = False,
    model_folder: Annotated[
        Path | None,
        typer.Option(
            "--model-folder", metavar="DIR", help="The model's files; else the profile's model path, if it is here."
        ),
    ] = None,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    facts: FactsPath = None,
    output: OutputFormat = Format.TEXT,
) -> int:
    import json

    from dsv4deploy.cli import house
    from dsv4deploy.flow import looked_at, memory_of
    from dsv4deploy.model.diagnostic import Refused, Report
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.views.effective import effective_table, effective_tree
    from dsv4deploy.views.memory import memory_table, memory_tree

    as_json = output is Format.JSON
    try:
        asked = house.asked(profile, variant, sets, facts, [])
        checkpoint = house.facts_document(facts).checkpoint if facts else None
        looked = looked_at(Files(), house.knowledge(), asked)
        folder = model_folder or Path(looked.profile.model.path)
        if model_folder or (folder / "config.json").is_file():
            asked, checkpoint = house.with_model(asked, folder)
            looked = looked_at(Files(), house.knowledge(), asked)
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    if not memory:
        tree, text = effective_tree(looked.effective), effective_table(looked.effective)
        print(json.dumps(tree, indent=2) if as_json else text)
        return Exit.FINE
    account = memory_of(looked, checkpoint)
    if as_json:
        print(json.dumps(memory_tree(account), indent=2))
        return Exit.FOUND if Report(account.diagnostics).blocks else Exit.FINE
    print(memory_table(account))
    if not account.diagnostics:
        return Exit.FINE
    print(flush=True)
    return house.show(Report(account.diagnostics), looked.sources, as_json=False, fine="")
