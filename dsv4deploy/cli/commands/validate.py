"""Check a profile or a launch script against its engine version and the catalogue of known-bad combinations.

With `--engine-python` the SGLang that is installed beside that Python reads the arguments itself and, where it can without
a GPU, says what takes effect of them; where it disagrees with us, that is shown. It starts no server.

Example: dsv4deploy validate profile.yaml --set memory.fraction_static=0.9
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import CallerSets, FactsPath, Format, OutputFormat, Sets, Variants, Waive

GROUP = "Check"
ORDER = 1


def command(
    profile: Annotated[Path | None, typer.Argument(metavar="PROFILE", help="The profile, a YAML file.")] = None,
    *,
    script: Annotated[
        Path | None, typer.Option("--script", metavar="FILE", help="Check a launch script, unit or JSON argv instead.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--command", metavar="N", help="Which start of the script, if it has several.")
    ] = None,
    engine: Annotated[
        str | None,
        typer.Option("--engine", metavar="VERSION", help="With --script: the SGLang release that it starts."),
    ] = None,
    env: CallerSets = [],  # noqa: B006 (typer copies it)
    variant: Variants = [],  # noqa: B006 (typer copies it)
    sets: Sets = [],  # noqa: B006 (likewise)
    facts: FactsPath = None,
    waive: Waive = [],  # noqa: B006 (likewise)
    engine_python: Annotated[
        Path | None,
        typer.Option("--engine-python", metavar="FILE", help="Python of an installed SGLang; ask that one too."),
    ] = None,
    strict: Annotated[bool, typer.Option("--strict", help="Treat warnings as errors.")] = False,
    output: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import house
    from dsv4deploy.cli.options import pairs
    from dsv4deploy.flow import looked_at, looked_at_script
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.stages.check import strict as raised

    path = script or profile
    if path is None or (script and profile):
        raise Trouble(
            "validate takes a profile, or --script and a launch file", "dsv4deploy validate --help", Exit.USAGE
        )
    if engine and not script:
        raise Trouble("the profile says its engine", "--set engine.version=VERSION tries another", Exit.USAGE)
    as_json = output is Format.JSON
    try:
        asked = house.asked(path, variant, sets, facts, waive)
        asked = house.with_version(asked, engine) if engine else asked
        if script:
            seen = looked_at_script(Files(), house.knowledge(path), asked, number, pairs(env))
        else:
            seen = looked_at(Files(), house.knowledge(path), asked)
    except Refused as refused:
        return house.show_refusal(refused, as_json=as_json)
    report = house.with_engine(seen, engine_python) if engine_python else seen.report
    report = raised(report) if strict else report
    version = f"SGLang {seen.launch.version}" if seen.launch.version else "SGLang of unknown version"
    fine = f"{path}: fine ({version}, {report.looked_at} rules looked at)"
    return house.show(report, seen.sources, as_json=as_json, fine=fine)
