"""Real bash is the judge: what a script starts, word for word and variable for variable, is what we read in it."""

import os
import shlex
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

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


def as_started(command: Command) -> Started:
    environment = {name: word.text for name, word in command.environment.items() if name not in OF_BASH}
    return Started([word.text for word in (*command.lead[1:], *command.argv)], environment)


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.stem)
def test_what_bash_starts_is_what_we_read(path: Path, tmp_path: Path) -> None:
    """Every start that we call certain happens exactly so; every start that happens is listed."""
    really = started(path, tmp_path)
    imported = read(path)
    certain = [command for command in imported.commands if wholly_known(command)]
    told = [as_started(command) for command in certain]
    if len(certain) == len(imported.commands):
        if path.stem in ANY_ORDER:
            told, really = (sorted(some, key=lambda one: one.words) for some in (told, really))
        assert told == really
    else:
        assert all(one in really for one in told)
        assert len(really) <= len(imported.commands) or path.stem in ANY_ORDER


# Scripts made up of everything that is followed, and of nothing that needs the machine.

TEXTS = st.text(st.sampled_from("ab4 -=:.é"), max_size=5)
NAMES = st.sampled_from(["V", "W"])
PIECES = st.one_of(
    TEXTS.map(shlex.quote),
    TEXTS.map(lambda text: f'"{text}"'),
    st.sampled_from(["a", "b4", "--x=", ":", r"\ ", r"\$", "~", "a#"]),
    st.builds("${}".format, NAMES),
    st.builds('"${}"'.format, NAMES),
    st.builds("${{{}{}{}}}".format, NAMES, st.sampled_from([":-", "-", ":+", "+"]), TEXTS.map(shlex.quote)),
    st.builds(
        '"${{{}{}{}}}"'.format, NAMES, st.sampled_from([":-", "-", ":+", "+", ":="]), st.sampled_from(["", "x y"])
    ),
    st.builds("${{{}{}}}".format, NAMES, st.sampled_from(["%a", "#a", "%%4", "##a ", "^^", ",,", ":1", ":0:2"])),
    st.sampled_from(['"${A[@]}"', '"${A[*]}"', "${A[@]}", "${A[1]}", "${#A[@]}", "${#V}", '"$@"', "$1", "$#", "$A"]),
    st.sampled_from(["$((4 + 1))", "$((2 * (3 - 1)))", "$'a\\tb'", '"a\\\nb"', "$'\\\\'"]),
)
WORDS = st.lists(PIECES, min_size=1, max_size=3).map("".join)
VALUES = WORDS.filter(lambda word: "=" not in word[:2])
STATEMENTS = st.one_of(
    st.builds("{}{}{}".format, NAMES, st.sampled_from(["=", "+="]), VALUES),
    st.builds("A{}({})".format, st.sampled_from(["=", "+="]), st.lists(WORDS, max_size=3).map(" ".join)),
    st.builds("A[{}]={}".format, st.integers(0, 1), VALUES),
    st.builds("export {}".format, NAMES),
    st.builds("export {}={}".format, NAMES, VALUES),
    st.builds("unset {}".format, NAMES),
    st.builds("set -- {}".format, st.lists(WORDS, max_size=3).map(" ".join)),
    st.sampled_from(["shift", "set -a", "set +a", "# a comment", ": ${V:=set}", "f"]),
    st.builds("{} python -m sglang.launch_server {}".format, st.sampled_from(["", "V=own", "env W=own"]), WORDS),
    st.builds("(V=inner; export V; python -m sglang.launch_server {})".format, WORDS),
    st.builds("python -m sglang.launch_server {} >/dev/null {}".format, WORDS, WORDS),
)
DECLARED = st.one_of(
    st.builds("{} {}".format, st.sampled_from(["local", "declare", "typeset", "export"]), NAMES),
    st.builds("{} {}={}".format, st.sampled_from(["local", "local -x", "declare -x", "declare -g"]), NAMES, VALUES),
    st.builds("local A=({})".format, WORDS),
    st.builds("export -n {}".format, NAMES),
)
CALLS = st.builds("{}{} {}".format, st.sampled_from(["", "V=own ", "W=x "]), st.sampled_from(["f", "g", "h"]), WORDS)
OTHERS = st.one_of(
    CALLS,
    st.builds("echo {} >/dev/null".format, WORDS),
    st.builds('printf -v {} "%s" b4'.format, NAMES),
    st.builds("read {} <<<{}".format, NAMES, WORDS),
    st.builds("read -r {} W <<<'a b c'".format, NAMES),
    st.builds("mapfile -t A <<<{}".format, WORDS),
    st.builds("eval {}={}".format, NAMES, TEXTS.map(shlex.quote).map(shlex.quote)),
    st.builds("bash -c {}".format, WORDS.map("python -m sglang.launch_server {}".format).map(shlex.quote)),
    st.builds("{{ {}={}; export W=grouped; }}".format, NAMES, VALUES),
    st.builds("cat >/dev/null <<{}\npython -m sglang.launch_server $V\nEND".format, st.sampled_from(["END", "'END'"])),
    st.builds("(( {} = 4 ))".format, NAMES),
    st.builds("let {}=4".format, NAMES),
    st.builds("{}={} W=second".format, NAMES, VALUES),
    st.sampled_from(['set -- "$@" x', 'A+=("$@")', "unset A", "unset 'A[0]'", "export A", "A=([1]=x)", 'V="${A[*]}"']),
)
BODIES = st.lists(st.one_of(STATEMENTS, OTHERS, DECLARED), max_size=4).map("\n".join)
FUNCTIONS = st.builds(
    "{}() {{\n:\n{}\n}}".format, st.sampled_from(["g", "h"]), BODIES.filter(lambda body: "\ng" not in body)
)
SCRIPTS_MADE = st.lists(st.one_of(STATEMENTS, OTHERS, FUNCTIONS, CALLS), min_size=1, max_size=8)
PROLOGUE = "unset V W A\nset --\ng() { :; }\nh() { :; }\nf() { local X=$1; V=from-f; set -- inside; }\n"


@settings(max_examples=120, deadline=None, suppress_health_check=list(HealthCheck))
@given(SCRIPTS_MADE)
def test_made_up_scripts_start_in_bash_what_we_read(
    tmp_path_factory: pytest.TempPathFactory, statements: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("made-up")
    (folder / "own").mkdir()
    path = folder / "own/launch.sh"
    path.write_text(PROLOGUE + "\n".join(statements) + "\n", encoding="utf-8")
    really = started(path, folder)
    imported = read(path)
    told = [as_started(command) for command in imported.commands]
    known = [wholly_known(command) for command in imported.commands]
    assert len(told) == len(really)
    assert [one for one, sure in zip(told, known, strict=True) if sure] == [
        one for one, sure in zip(really, known, strict=True) if sure
    ]


# The grammar has no test in which a word holds one of these.
TESTED = WORDS.filter(lambda word: not set(word) & set("#\\~="))
SIDES = st.one_of(
    TESTED, st.sampled_from(["4", "-1", "04", "a*", '"a*"', '""', "$V", '"$V"', '"$W"', "$((2 + 2))", "8"])
)
OPERATORS = st.sampled_from(["==", "=", "!=", "-eq", "-ne", "-lt", "-ge", "<", "=~"])
ASKED = st.one_of(
    st.builds("{} {} {}".format, SIDES, OPERATORS, SIDES),
    st.builds("{} {}".format, st.sampled_from(["-n", "-z", "! -z", "-f"]), SIDES),
)
TESTS = st.one_of(
    ASKED.map("[[ {} ]]".format),
    ASKED.map("[ {} ]".format),
    ASKED.map("! [[ {} ]]".format),
    st.builds("[[ {} {} {} ]]".format, ASKED, st.sampled_from(["&&", "||"]), ASKED),
    st.builds("[ {} ] {} [[ {} ]]".format, ASKED, st.sampled_from(["&&", "||"]), ASKED),
)
START = "python -m sglang.launch_server"
CHOICES = st.one_of(
    st.builds("if {}; then\nV=4\n{} one $V\nfi".format, TESTS, st.just(START)),
    st.builds("if {}; then\nW=b4; {} one\nelse\n{} other\nV=a\nfi".format, TESTS, st.just(START), st.just(START)),
    st.builds("if {}\nthen {} one; elif {}; then {} two\nfi".format, TESTS, st.just(START), TESTS, st.just(START)),
    st.builds("{} && A+=(more)".format, TESTS),
)
SETTINGS = st.builds("{}={}".format, NAMES, st.one_of(VALUES, st.sampled_from(["4", "a", "'a b'", "", "8"])))


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.one_of(SETTINGS, CHOICES), min_size=1, max_size=5))
def test_a_made_up_script_goes_in_bash_the_way_we_read(
    tmp_path_factory: pytest.TempPathFactory, statements: list[str]
) -> None:
    """A start that we call certain happens, in that order; where nothing is left open, there is no other."""
    folder = tmp_path_factory.mktemp("made-up")
    (folder / "own").mkdir()
    path = folder / "own/launch.sh"
    path.write_text(PROLOGUE + "\n".join([*statements, f'{START} last $V "${{A[@]}}"']) + "\n", encoding="utf-8")
    assume(not subprocess.run(["bash", "-n", path], capture_output=True, check=False).returncode)  # it is a script
    really = started(path, folder)
    imported = read(path)
    certain = [as_started(command) for command in imported.commands if wholly_known(command)]
    left = iter(really)
    assert all(one in left for one in certain)
    assert imported.remainder or certain == really
