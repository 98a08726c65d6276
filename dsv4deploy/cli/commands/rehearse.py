"""Stand in for the engine on a machine without a GPU: a folder to use as `engine.venv`.

A rehearsal parses the flags of its version, writes its log, serves its endpoints and ends as it ends; it can be told to
fail in each known way. Every log and `/server_info` say that it is one.

    dsv4deploy rehearse venv /tmp/sglang --engine 0.5.21
    /tmp/sglang/bin/python -m sglang.launch_server --model-path /models/any --tp-size 4
    DSV4_REHEARSAL_FAIL=stream-capture-isolation /tmp/sglang/bin/python -m sglang.launch_server --model-path /models/any --tp-size 4
"""

from pathlib import Path
from typing import Annotated

import typer

GROUP = "Deploy"
ORDER = 80

app = typer.Typer(no_args_is_help=True)

Engine = Annotated[str, typer.Option("--engine", metavar="VERSION", help="The SGLang release to stand in for.")]
World = Annotated[
    Path | None,
    typer.Option("--world", metavar="FILE", help="YAML: the pretended cards and model, and which combinations fail."),
]


@app.command("venv")
def make(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where to put it; use it as `engine.venv`.")],
    engine: Engine,
    world: World = None,
) -> int:
    """Make a folder to use as `engine.venv`; nothing is downloaded.

    dsv4deploy rehearse venv /tmp/sglang --engine 0.5.21
    """
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rehearsal.install import install

    try:
        python = install(folder, engine_files(engine, world))
    except OSError as error:
        raise Trouble(
            error.strerror or str(error), "choose a folder that is new, empty, or an older rehearsal", Exit.UNREADABLE
        ) from error
    print(f"{python} stands in for SGLang {engine}")
    return Exit.FINE


@app.command()
def pack(
    archive: Annotated[Path, typer.Argument(metavar="FILE", help="The archive to write, `rehearsal.pyz`.")],
    engine: Engine,
    world: World = None,
) -> int:
    """Write an archive for a machine without dsv4deploy, where `python3 FILE FOLDER` makes the folder (Python 3.8 and up).

    dsv4deploy rehearse pack rehearsal.pyz --engine 0.5.21
    """
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rehearsal import install

    install.pack(archive, engine_files(engine, world))
    print(f"{archive} stands in for SGLang {engine}: python3 {archive.name} FOLDER")
    return Exit.FINE


@app.command("list")
def show(
    output: Annotated[str, typer.Option("--format", help="text or json.")] = "text",
) -> int:
    """List the failure scripts: name, class, stage, and whether the lines were recorded or are cited.

    dsv4deploy rehearse list --format json
    """
    import json

    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.rehearsal.failure import failures

    if output == "json":
        scripts = [
            {"name": f.name, "class": f.triage, "stage": f.stage, "kind": f.kind, "source": f.source}
            for f in failures()
        ]
        print(json.dumps({"schema": "rehearsals/1", "failures": scripts}, indent=2))
        return Exit.FINE
    for f in failures():
        print(f"{f.name:32} {f.triage or '-':22} {f.stage:8} {f.kind:9} {f.source}")
    return Exit.FINE


def engine_files(engine: str, world: Path | None) -> dict[str, str]:
    """The files of a rehearsal of that version in that world."""
    from importlib import resources

    import yaml

    from dsv4deploy.flags import history
    from dsv4deploy.model.history import UnknownVersionError
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.rehearsal import install
    from dsv4deploy.rehearsal.record import WorldError, record

    sources = resources.files("dsv4deploy.rehearsal").joinpath("engine")
    modules = {file.name: file.read_text(encoding="utf-8") for file in sources.iterdir() if file.name.endswith(".py")}
    try:
        changes = yaml.safe_load(world.read_text(encoding="utf-8")) if world else None
        return install.files(modules, record(history().at(engine), changes))
    except UnknownVersionError as unknown:
        raise Trouble(str(unknown), f"--engine {unknown.nearest}", Exit.USAGE) from unknown
    except (OSError, yaml.YAMLError, WorldError) as error:
        raise Trouble(f"{world}: {error}", "docs/rehearsal.md describes a world file", Exit.UNREADABLE) from error
