"""Puts the rehearsal engine of one version into a folder that looks like the engine's own virtual environment.

Standard library only: the archive that `pack` writes runs the same code on a node.
"""

from __future__ import annotations

import json
import sys
import venv
import zipfile
from pathlib import Path
from typing import Any, Dict

# Files of an engine: path below `site-packages` to content.
Files = Dict[str, str]
_SHOWN_VERSION = (
    "Metadata-Version: 2.1\nName: sglang\nVersion: {}\nSummary: a rehearsal by dsv4deploy, not the engine\n"
)
# Programs of `bin` and the function that each calls.
_PROGRAMS = {"sglang": "launch_server:serve", "nvidia-smi": "nvidia_smi:main"}
_PROGRAM = "#!{}\nimport sys\nfrom sglang.{} import {}\nsys.exit({}())\n"
_MAIN = "import install\ninstall.main()\n"


def files(sources: Files, record: dict[str, Any]) -> Files:
    """Everything that goes into `site-packages`; `sources` are the modules of the engine by file name."""
    placed = {f"sglang/{name}": text for name, text in sources.items()}
    placed["sglang/record.json"] = json.dumps(record, sort_keys=True, separators=(",", ":"))
    information = "sglang-{}.dist-info".format(record["version"])
    placed[information + "/METADATA"] = _SHOWN_VERSION.format(record["version"])
    placed[information + "/INSTALLER"] = "dsv4deploy rehearsal\n"
    placed[information + "/RECORD"] = ""
    return placed


def install(folder: Path, placed: Files) -> Path:
    """Make `folder` a virtual environment of the running Python that holds `placed`; the path of its Python.

    Raises:
        FileExistsError: the folder holds something that is no rehearsal.
    """
    if folder.exists() and any(folder.iterdir()) and not _is_rehearsal(folder):
        raise FileExistsError(f"{folder} is not empty and holds no rehearsal")
    venv.EnvBuilder(symlinks=True, with_pip=False, clear=folder.exists()).create(str(folder))
    site = folder / "lib" / "python{}.{}".format(*sys.version_info[:2]) / "site-packages"
    for name, text in placed.items():
        path = site / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    python = folder / "bin" / "python"
    for name, target in _PROGRAMS.items():
        module, _, function = target.partition(":")
        program = python.with_name(name)
        program.write_text(_PROGRAM.format(python.absolute(), module, function, function), encoding="utf-8")
        program.chmod(0o755)
    return python


def _is_rehearsal(folder: Path) -> bool:
    return any(folder.glob("lib/python*/site-packages/sglang/record.json"))


def pack(path: Path, placed: Files) -> None:
    """Write an archive that installs on a machine without dsv4deploy: `python3 ARCHIVE FOLDER`; the same input, the same bytes."""
    content = dict(placed)
    content["__main__.py"] = _MAIN
    content["install.py"] = Path(__file__).read_text(encoding="utf-8")
    with zipfile.ZipFile(str(path), "w", zipfile.ZIP_DEFLATED) as archive:
        for name in sorted(content):
            archive.writestr(zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0)), content[name], zipfile.ZIP_DEFLATED)


def main(words: list[str] | None = None) -> None:
    """Install from the archive that runs this: `python3 ARCHIVE FOLDER`."""
    arguments = sys.argv[1:] if words is None else words
    if len(arguments) != 1:
        raise SystemExit(f"usage: {Path(sys.argv[0]).name} FOLDER")
    with zipfile.ZipFile(sys.argv[0]) as archive:
        placed = {name: archive.read(name).decode("utf-8") for name in archive.namelist() if "/" in name}
    try:
        sys.stdout.write(f"{install(Path(arguments[0]), placed)}\n")
    except OSError as error:
        raise SystemExit(f"error: {error}") from error
