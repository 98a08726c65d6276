"""Find the smallest set of differing settings that makes a start fail, a check fail, or a server too slow.

Both profiles are launched first. Then mixes are launched that tell most; mixes that the engine would refuse are not.
Launches that were made before count. A version with its venv is one setting, and so is each patch.

    dsv4deploy bisect --good fine.yaml --bad broken.yaml --local
    dsv4deploy bisect --good fine.yaml --bad broken.yaml -i gpu.ini --below 40
    dsv4deploy bisect --good fine.yaml --bad broken.yaml -i gpu.ini --health smoke
    dsv4deploy bisect --good fine.yaml --bad broken.yaml --local --check 'test-it --url $DSV4_URL'
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.completing import check_names
from dsv4deploy.cli.fleet_options import Reach, if_on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 20


@if_on_nodes
def command(
    *,
    good: Annotated[Path, typer.Option("--good", metavar="PROFILE", help="A profile that starts.")],
    bad: Annotated[Path, typer.Option("--bad", metavar="PROFILE", help="A profile that does not.")],
    reach: Reach,
    here: Annotated[bool, typer.Option("--local", help="Launch on this machine.")] = False,
    world: Annotated[
        Path | None, typer.Option("--world", metavar="FILE", help="Rehearse here, in this world: which mixes fail.")
    ] = None,
    below: Annotated[
        float,
        typer.Option(
            "--below", min=0, metavar="X", help="Fewer tokens/s than this, measured once ready, is a failure."
        ),
    ] = 0,
    health: Annotated[
        list[str],
        typer.Option(
            "--health",
            metavar="CHECK",
            autocompletion=check_names,
            help="A health check that must pass once ready; repeatable.",
        ),
    ] = [],  # noqa: B006 (Typer wants a list)
    check: Annotated[str, typer.Option("--check", metavar="COMMAND", help="Must succeed once ready.")] = "",
    deadline: Annotated[float, typer.Option("--deadline", min=0, metavar="S", help="Seconds for each launch.")] = 0,
    spurious: Annotated[
        float,
        typer.Option("--spurious", metavar="SHARE", min=0, max=0.45, help="Share of launches that fail for no reason."),
    ] = 0,
    missed: Annotated[
        float,
        typer.Option("--missed", metavar="SHARE", min=0, max=0.45, help="Share of bad launches that do not fail."),
    ] = 0,
    again: Annotated[bool, typer.Option("--again", help="Let trials that were made before not count.")] = False,
    form: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import arms, bisecting
    from dsv4deploy.cli.launching import Goal
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.node.checks.every import CHECKS

    unknown = [one for one in health if one not in CHECKS]
    if unknown:
        raise Trouble(f"there is no check {unknown[0]}", f"one of {', '.join(CHECKS)}", Exit.USAGE)
    where = arms.Where(reach, here, world)
    goal = Goal(deadline or None, None, tuple(health), check, below)
    return bisecting.run(bisecting.Asked(good, bad, where, goal, spurious, missed, again), as_json=form is Format.JSON)
