"""Reproduce hazards of GPU and collectives in seconds, without loading a model.

The probes run under the engine's own Python, which has torch. Each case is a process of its own with a time limit.
With a profile they take its Python, the KV pool that it is predicted to have, and the kernels of its patches that
have a trial: each beside its reference, eagerly and in a capture, with the patch laid over a copy that goes again.

    dsv4deploy probe --python /opt/sglang/venv/bin/python
    dsv4deploy probe all-reduce peer-write --python /opt/sglang/venv/bin/python -o probes.json
    dsv4deploy probe -i gpu.ini --profile profile.yaml
    dsv4deploy probe --from probes.json
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.completing import probe_names
from dsv4deploy.cli.fleet_options import Reach, if_on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 30


@if_on_nodes
def command(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="NAME", autocompletion=probe_names, help="Probes, or what their names begin with; all without."
        ),
    ] = None,
    *,
    reach: Reach,
    python: Annotated[
        Path | None, typer.Option("--python", metavar="PATH", help="The engine's Python, here or on the nodes.")
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="FILE", help="Take Python, predicted pool and patched kernels from it."),
    ] = None,
    read: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Run nothing; show answers written before.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Keep the answers.")] = None,
    fault: Annotated[
        str, typer.Option("--fault", metavar="KIND", help="wrong, hang or die: what one rank does on purpose.")
    ] = "",
    seconds: Annotated[
        float, typer.Option("--deadline", min=0, metavar="S", help="Seconds for each case; 0 is its own.")
    ] = 0,
    device: Annotated[str, typer.Option("--device", help="cuda; cpu tries the collectives without a card.")] = "cuda",
    kernel: Annotated[
        list[str],
        typer.Option("--kernel", metavar="FILE:FUNCTION", help="A patched kernel and its reference; repeatable."),
    ] = [],  # noqa: B006 (Typer wants a list)
    form: OutputFormat = Format.TEXT,
) -> int:
    import sys

    from dsv4deploy.cli import house, probing
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit, Trouble

    if fault and fault not in {"wrong", "hang", "die"}:
        raise Trouble(f"--fault {fault} is none", "--fault wrong, --fault hang or --fault die", Exit.USAGE)
    if read:
        return probing.shown({"": probing.read(read)}, output, as_json=form is Format.JSON)
    _known(names or [])
    words = [*(names or []), "--device", device, "--limit", str(seconds)]
    words += ["--fault", fault] if fault else []
    try:
        asked = probing.asked(profile, python, words)
    except Refused as refused:
        return house.show_refusal(refused, as_json=form is Format.JSON)
    for line in asked.told:
        print(line, file=sys.stderr)
    if reach.inventory:
        answers = probing.on_nodes(reach.options(), asked, kernel, output)
    else:
        answers = {"": probing.here(asked, kernel)}
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
