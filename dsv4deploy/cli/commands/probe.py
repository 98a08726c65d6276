"""Reproduce hazards of GPU and collectives in seconds, without loading a model.

The probes run under the engine's own Python, which has torch. Each case is a process of its own with a time limit.

    dsv4deploy probe --python /opt/sglang/venv/bin/python
    dsv4deploy probe all-reduce peer-write --python /opt/sglang/venv/bin/python -o probes.json
    dsv4deploy probe -i gpu.ini --python /opt/sglang/venv/bin/python
    dsv4deploy probe --from probes.json
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import AskBecomePass, Become, Inventory, Limit
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 30


def command(  # noqa: PLR0917 (options, not arguments)
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Probes, or what their names begin with; all without.")
    ] = None,
    python: Annotated[
        Path, typer.Option("--python", metavar="PATH", help="The engine's Python, here or on the nodes.")
    ] = Path("python3"),
    inventory: Inventory = [],  # noqa: B006 (Typer wants a list)
    read: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Run nothing; show answers written before.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Keep the answers.")] = None,
    fault: Annotated[
        str, typer.Option("--fault", metavar="KIND", help="wrong, hang or die: what one rank does on purpose.")
    ] = "",
    seconds: Annotated[float, typer.Option("--deadline", metavar="S", help="Seconds for each case; 0 is its own.")] = 0,
    device: Annotated[str, typer.Option("--device", help="cuda; cpu tries the collectives without a card.")] = "cuda",
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="FILE:FUNCTION", help="A patched kernel and its reference.")
    ] = "",
    limit: Limit = None,
    become: Become = False,
    ask_become_pass: AskBecomePass = False,
    form: OutputFormat = Format.TEXT,
) -> int:
    from dsv4deploy.cli import fleet, probing
    from dsv4deploy.model.trouble import Exit, Trouble

    if fault and fault not in {"wrong", "hang", "die"}:
        raise Trouble(f"--fault {fault} is none", "--fault wrong, --fault hang or --fault die", Exit.USAGE)
    if read:
        return probing.shown({"": probing.read(read)}, output, as_json=form is Format.JSON)
    _known(names or [])
    words = [*(names or []), "--device", device, "--limit", str(seconds)]
    words += ["--fault", fault] if fault else []
    if inventory:
        words += ["--kernel", kernel] if kernel else []
        options = fleet.options(inventory, limit=limit, become=become, ask_become_pass=ask_become_pass)
        answers = probing.on_nodes(options, python, words)
    else:
        answers = {"": probing.here(python, words, kernel)}
    return probing.shown(answers, output, as_json=form is Format.JSON)


def _known(names: list[str]) -> None:
    from dsv4deploy.model.nearest import nearest
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.probes.case import all_cases, chosen

    for name in names:
        try:
            chosen([name])
        except KeyError:
            known = [case.name for case in all_cases()]
            close = nearest(name, known)
            remedy = f"dsv4deploy probe {close}" if close else f"one of {', '.join(known)}"
            raise Trouble(f"there is no probe {name}", remedy, Exit.USAGE) from None
