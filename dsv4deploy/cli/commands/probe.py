"""Reproduce hazards of GPU and collectives in seconds, without loading a model.

The probes run under the engine's own Python, which has torch. Each case is a process of its own with a time limit.

    dsv4deploy probe --python /opt/sglang/venv/bin/python
    dsv4deploy probe all-reduce peer-write --python /opt/sglang/venv/bin/python -o probes.json
    dsv4deploy probe --from probes.json
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Diagnose"
ORDER = 30


def command(  # noqa: PLR0917 (options, not arguments)
    names: Annotated[
        list[str] | None, typer.Argument(metavar="NAME", help="Probes, or what their names begin with; all without.")
    ] = None,
    python: Annotated[Path, typer.Option("--python", metavar="PATH", help="The engine's Python.")] = Path("python3"),
    read: Annotated[
        Path | None, typer.Option("--from", metavar="FILE", help="Run nothing; show answers written before.")
    ] = None,
    output: Annotated[Path | None, typer.Option("-o", "--output", metavar="FILE", help="Keep the answers.")] = None,
    fault: Annotated[
        str, typer.Option("--fault", metavar="KIND", help="wrong, hang or die: what one rank does on purpose.")
    ] = "",
    limit: Annotated[float, typer.Option("--limit", metavar="S", help="Seconds for each case; 0 is its own.")] = 0,
    device: Annotated[str, typer.Option("--device", help="cuda; cpu tries the collectives without a card.")] = "cuda",
    kernel: Annotated[
        str, typer.Option("--kernel", metavar="FILE:FUNCTION", help="A patched kernel and its reference.")
    ] = "",
    form: OutputFormat = Format.TEXT,
) -> int:
    import os
    import sys

    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rim import probing
    from dsv4deploy.rim.texts import Files
    from dsv4deploy.source.probe_document import read_probes, recorded
    from dsv4deploy.stages.probes import deviations, peer_verdict
    from dsv4deploy.views import probes

    if fault and fault not in {"wrong", "hang", "die"}:
        raise Trouble(f"--fault {fault} is none", "--fault wrong, --fault hang or --fault die", Exit.USAGE)
    if read:
        text = Files().read(str(read)).decode()
    else:
        _known(names or [])
        words = [*(names or []), "--device", device, "--limit", str(limit)]
        words += ["--fault", fault] if fault else []
        words += ["--kernel", os.path.abspath(kernel)] if kernel else []  # noqa: PTH100 (the function is still at its end)
        interpreter = python.absolute() if len(python.parts) > 1 else python
        text = probing.run(interpreter, words, lambda line: print(line, file=sys.stderr, flush=True))
    if output:
        output.write_text(text, encoding="utf-8")
    document = read_probes(text, str(read or python))
    if form is Format.JSON:
        print(text.rstrip())
    else:
        news, verdict = deviations(document, recorded()), peer_verdict(document)
        print(probes.screen(document, news, verdict), end="")
    return Exit.FINE


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
