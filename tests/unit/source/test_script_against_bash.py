"""Real bash is the judge: what a script starts, word for word and variable for variable, is what we read in it."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from dsv4deploy.model.imported import Command, Imported
from dsv4deploy.source.script import script

SCRIPTS = Path(__file__).parent / "scripts"
RECORDER = """#!/bin/sh
{ printf '%s\\0' "$0" "$@"; printf '<environment>\\0'; env -0; } >"$RECORD.$$"
"""
PASSING = '#!/bin/sh\nwhile case "$1" in -*) true ;; *) false ;; esac; do shift; done\nexec "$@"\n'
OF_BASH = {"RECORD", "PATH", "PWD", "OLDPWD", "SHLVL", "_", "HOME"}
HOME = {"HOME": "/home/u"}
# bash starts more than one of these at a time, one after the other by chance.
ANY_ORDER = {"two_servers", "loops"}


@dataclass(frozen=True)
class Started:
    """One program that bash started: its words and its environment without what bash itself adds."""

    words: list[str]
    environment: dict[str, str]


def started(path: Path, folder: Path) -> list[Started]:
    """Run a copy of the script with stand-ins that record; programs that need the machine only pass on."""
    for name, text in (("python", RECORDER), ("python3", RECORDER), ("sglang", RECORDER), ("numactl", PASSING)):
        (folder / name).write_text(text, encoding="utf-8")
        (folder / name).chmod(0o755)
    copies = folder / "scripts"
    shutil.copytree(path.parent, copies)
    record = folder / "record"
    subprocess.run(
        ["bash", path.name],
        cwd=copies,
        env={"PATH": f"{folder}:{os.environ['PATH']}", "RECORD": str(record), "LC_ALL": "C.UTF-8", **HOME},
        capture_output=True,
        check=False,
        timeout=30,
    )
    records = sorted(folder.glob("record.*"), key=lambda file: file.stat().st_mtime_ns)
    return [_started(one.read_text(encoding="utf-8", errors="surrogateescape")) for one in records]


def _started(recorded: str) -> Started:
    words, _, environment = recorded.partition("<environment>\0")
    pairs = (line.partition("=") for line in environment.split("\0") if line)
    kept = {name: value for name, _, value in pairs if name not in OF_BASH | {"LC_ALL"}}
    return Started(words.split("\0")[1:-1], kept)


def read(path: Path, known: Mapping[str, str] | None = None) -> Imported:
    def text(name: str) -> str | None:
        file = SCRIPTS / name
        return file.read_text(encoding="utf-8") if file.is_file() else None

    return script(path.read_text(encoding="utf-8"), path.name, text, HOME if known is None else known)


def wholly_known(command: Command) -> bool:
    return not command.condition and all(word.known for word in (*command.argv, *command.environment.values()))


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.stem)
def test_what_bash_starts_is_what_we_read(path: Path, tmp_path: Path) -> None:
    """Every start that we call certain happens exactly so; every start that happens is listed."""
    really = started(path, tmp_path)
    imported = read(path)
    certain = [command for command in imported.commands if wholly_known(command)]
    told = [
        Started(
            [word.text for word in (*command.lead[1:], *command.argv)],
            {name: word.text for name, word in command.environment.items() if name not in OF_BASH},
        )
        for command in certain
    ]
    if len(certain) == len(imported.commands):
        if path.stem in ANY_ORDER:
            told, really = (sorted(some, key=lambda one: one.words) for some in (told, really))
        assert told == really
    else:
        assert all(one in really for one in told)
        assert len(really) <= len(imported.commands) or path.stem in ANY_ORDER
