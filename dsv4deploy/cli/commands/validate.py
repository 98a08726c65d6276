"""Check a profile against its engine version and the catalogue of known-bad combinations.

Example: dsv4deploy validate profile.yaml --set memory.fraction_static=0.9
"""

from typing import Annotated

import typer

from dsv4deploy.cli.options import FactsPath, Format, OutputFormat, ProfilePath, Sets, Variants, Waive

GROUP = "Check"
ORDER = 1


def command(
    profile: ProfilePath,
    *,
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    facts: FactsPath = None,
    waive: Waive = [],  # noqa: B006 (likewise)
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    output: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import house
    from dsv4deploy.flow import looked_at
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.stages.check import strict as raised

    as_json = output is Format.JSON
    try:
        looked = looked_at(Files(), house.knowledge(), house.asked(profile, variant, sets, facts, waive))
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    report = raised(looked.report) if strict else looked.report
    fine = f"{profile}: fine (SGLang {looked.profile.engine.version}, {report.looked_at} rules looked at)"
    return house.show(report, looked.merged.sources, as_json=as_json, fine=fine)
