"""List the catalogue of known-bad combinations, show how far it reaches, and test a folder of rules.

Example: dsv4deploy rules --family arch --arch sm_120 --engine 0.5.21
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.groups import ShowsByDefault
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Knowledge"
ORDER = 2

app = typer.Typer(cls=ShowsByDefault)


@app.command(hidden=True)
def show(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="Only rules whose name or summary has it.")] = "",
    *,
    family: Annotated[str, typer.Option(metavar="NAME", help="Only this family.")] = "",
    arch: Annotated[str, typer.Option(metavar="SM", help="Only what can speak on this card, sm_120.")] = "",
    engine: Annotated[str, typer.Option(metavar="VERSION", help="Only what can speak of this release.")] = "",
    coverage: Annotated[bool, typer.Option("--coverage", help="Count instead of listing.")] = False,
    output: OutputFormat = Format.TEXT,
) -> int:
    """List the rules."""
    import json

    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.source.rulebook import catalogue
    from dsv4deploy.stages.releases import within
    from dsv4deploy.views.rules import coverage as counted
    from dsv4deploy.views.rules import rules_table, rules_tree

    rules = catalogue()
    if family and family not in {rule.family for rule in rules}:
        known = ", ".join(sorted({rule.family for rule in rules}))
        raise Trouble(f"there is no family {family}", f"choose from {known}", Exit.USAGE)
    chosen = [
        rule
        for rule in rules
        if text.lower() in f"{rule.id} {rule.summary}".lower()
        and (not family or rule.family == family)
        and (not arch or not rule.scope.arch or arch in rule.scope.arch)
        and (not engine or not rule.scope.engine or within(engine, rule.scope.engine))
    ]
    if output is Format.JSON:
        print(json.dumps(rules_tree(chosen), indent=2))
    else:
        print(counted(chosen) if coverage else rules_table(chosen))
    return Exit.FINE


@app.command("test")
def run(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="A folder of rules.")] = Path("rules"),
    output: OutputFormat = Format.TEXT,
) -> int:
    """Run the examples of every rule in a folder, and see that none of its conditions is idle.

    Example: dsv4deploy rules test ./rules
    """
    import json

    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.source.rulebook import rulebook
    from dsv4deploy.stages.examples import failures, idle

    if not folder.is_dir():
        raise Trouble(f"{folder} is no folder", "name the folder that holds the rules", Exit.USAGE)
    rules = rulebook(folder)
    told = {rule.id: (*failures(rule), *idle(rule)) for rule in rules}
    wrong = {name: lines for name, lines in told.items() if lines}
    if output is Format.JSON:
        print(json.dumps({"schema": "rules-test/1", "rules": {name: list(lines) for name, lines in told.items()}}))
    else:
        for name, lines in wrong.items():
            print(*(f"{name}: {line}" for line in lines), sep="\n")
        print(f"{len(rules)} rules, {len(rules) - len(wrong)} as their examples say")
    return Exit.FOUND if wrong else Exit.FINE
