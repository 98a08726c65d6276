"""Run an experiment: start its arms one after the other, and say what their outcomes mean.

Confounds, missing controls and arms that cannot answer are named before anything is started. A running service is
stopped and always brought back. An experiment that was interrupted goes on with the arms that are done.

    dsv4deploy diagnose examples/compile-vs-kernel/experiment-2.yaml --local
    dsv4deploy diagnose experiment.yaml -i gpu.ini --limit gpu01
    dsv4deploy diagnose experiment.yaml --check
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import Reach, if_on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 10


@if_on_nodes
def command(
    experiment: Annotated[Path, typer.Argument(metavar="EXPERIMENT", help="The experiment, a YAML file.")],
    *,
    reach: Reach,
    here: Annotated[bool, typer.Option("--local", help="Start the arms on this machine.")] = False,
    world: Annotated[
        Path | None, typer.Option("--world", metavar="FILE", help="Rehearse here, in this world: which mixes fail.")
    ] = None,
    check: Annotated[
        bool, typer.Option("--check", help="Say what is wrong with the experiment; start nothing.")
    ] = False,
    again: Annotated[bool, typer.Option("--again", help="Let trials that were made before not count.")] = False,
    repeats: Annotated[
        int,
        typer.Option("--repeats", metavar="N", min=0, max=20, help="Launches of each arm; 0 is what the file says."),
    ] = 0,
    form: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import experimenting
    from dsv4deploy.cli.arms import Where

    where = Where(reach, here, world, check)
    asked = experimenting.Asked(experiment, where, again, repeats)
    return experimenting.run(asked, as_json=form is Format.JSON)
