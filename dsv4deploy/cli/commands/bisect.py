"""Find the smallest set of differing settings that makes a start fail.

Both profiles are launched first. Then mixes are launched that tell most; mixes that the engine would refuse are not.
Launches that were made before count. With --check, a start that is ready and fails the command has failed too.

    dsv4deploy bisect --good fine.yaml --bad broken.yaml --local
    dsv4deploy bisect --good fine.yaml --bad broken.yaml --local --check 'bench --url $DSV4_URL --at-least 500'
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import AskBecomePass, Become, Inventory, Limit
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 20


def command(  # noqa: PLR0917 (options, not arguments)
    good: Annotated[Path, typer.Option("--good", metavar="PROFILE", help="A profile that starts.")],
    bad: Annotated[Path, typer.Option("--bad", metavar="PROFILE", help="A profile that does not.")],
    inventory: Inventory = [],  # noqa: B006 (Typer wants a list)
    here: Annotated[bool, typer.Option("--local", help="Launch on this machine.")] = False,
    world: Annotated[
        Path | None, typer.Option("--world", metavar="FILE", help="Rehearse here, in this world: which mixes fail.")
    ] = None,
    check: Annotated[str, typer.Option("--check", metavar="COMMAND", help="Must succeed once ready.")] = "",
    deadline: Annotated[float, typer.Option("--deadline", metavar="S", help="Seconds for each launch.")] = 0,
    spurious: Annotated[
        float, typer.Option("--spurious", min=0, max=0.45, help="Share of launches that fail for no reason.")
    ] = 0,
    missed: Annotated[
        float, typer.Option("--missed", min=0, max=0.45, help="Share of bad launches that do not fail.")
    ] = 0,
    limit: Limit = None,
    become: Become = False,
    ask_become_pass: AskBecomePass = False,
    form: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import arms, bisecting

    ground = arms.ground(arms.Where(tuple(inventory), limit, become, ask_become_pass, here, world))
    asked = bisecting.Asked(good, bad, ground, spurious, missed, deadline or None, check)
    return bisecting.run(asked, as_json=form is Format.JSON)
