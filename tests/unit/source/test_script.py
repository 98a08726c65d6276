"""What the script reader answers: words with places, how sure they are, and what is left."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsv4deploy.model.imported import Command, Imported, Sure
from dsv4deploy.source.script import script

SCRIPTS = Path(__file__).parent / "scripts"
calm = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
START = "python -m sglang.launch_server"


def read(text: str, files: dict[str, str] | None = None, **known: str) -> Imported:
    return script(text, "launch.sh", (files or {}).get, known)


def only(imported: Imported) -> Command:
    (command,) = imported.commands
    return command


def texts(imported: Imported) -> list[str]:
    return [word.text for word in only(imported).argv]


# Quoting.

characters = st.characters(exclude_characters="\0", codec="utf-8")
awkward = st.text(st.sampled_from(" \t\n'\"\\$`!*?[]{}()<>|&;#~=,:%é日-aA0"), max_size=12)
values = awkward | st.text(characters, max_size=20)


def in_double(text: str) -> str:
    return '"' + "".join(f"\\{c}" if c in '$`"\\' else c for c in text) + '"'


def in_dollar(text: str) -> str:
    return "$'" + "".join(f"\\x{byte:02x}" for byte in text.encode()) + "'"


def in_dollar_escaped(text: str) -> str:
    return "$'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def escaped(text: str) -> str:
    return "".join("'\n'" if c == "\n" else f"\\{c}" for c in text) or "''"


@st.composite
def quoted_words(draw: st.DrawFn) -> tuple[str, str]:
    """A word, and one of the ways to write it in bash: each stretch in another kind of quotes."""
    stretches = draw(st.lists(values, min_size=1, max_size=3))
    kinds = [draw(st.sampled_from([shlex.quote, in_double, in_dollar, in_dollar_escaped, escaped])) for _ in stretches]
    return "".join(stretches), "".join(kind(text) for kind, text in zip(kinds, stretches, strict=True))


@calm
@given(st.lists(quoted_words(), max_size=5))
def test_words_survive_every_kind_of_quotes(words: list[tuple[str, str]]) -> None:
    imported = read(f"{START} {' '.join(written for _, written in words)}\n\n")
    assert texts(imported) == [word for word, _ in words]
    assert imported.remainder == ()


@calm
@given(st.lists(quoted_words(), max_size=5))
def test_words_survive_arrays_variables_and_exports(words: list[tuple[str, str]]) -> None:
    lines = [f"W{at}={written}; export E{at}={written}" for at, (_, written) in enumerate(words)]
    array = " ".join(written for _, written in words)
    uses = " ".join(f'"$W{at}"' for at in range(len(words)))
    imported = read("\n".join([*lines, f"A=({array})", f'{START} "${{A[@]}}" {uses}', ""]))
    plain = [word for word, _ in words]
    assert texts(imported) == plain * 2
    assert [word.text for word in only(imported).environment.values()] == plain


# Places and sureness.


def test_a_word_is_placed_where_its_text_was_written() -> None:
    imported = read(f'TP=4\nARGS="--port 30000 --tp"\n{START} --x=é $ARGS "$TP"\n')
    places = [str(word.place).removeprefix("launch.sh:") for word in only(imported).argv]
    assert places == ["3:32", "2:7", "2:14", "2:20", "1:4"]
    assert {word.used.line for word in only(imported).argv} == {3}


@pytest.mark.parametrize(
    ("line", "sure", "needs"),
    [
        (f"{START} --tp 4", Sure.LITERAL, ()),
        (f"X=4; {START} --tp $X", Sure.ASSIGNED, ()),
        (f"{START} --tp ${{X:-4}}", Sure.DEFAULT, ()),
        (f"X=${{1:-4}}; {START} --tp $X", Sure.DEFAULT, ()),
        (f"if [ -z $X ]; then X=4; fi; {START} --tp $X", Sure.DEFAULT, ()),
        (f"X=4; if [[ -n ${{Y:-}} ]]; then X=$Y; fi; {START} --tp $X", Sure.DEFAULT, ()),
        (f"X=4; while [ $# -gt 0 ]; do X=$1; shift; done; {START} --tp $X", Sure.DEFAULT, ()),
        (f"X=4; while getopts x: o; do X=$OPTARG; done; {START} --tp $X", Sure.DEFAULT, ()),
        (f"{START} --tp [4]", Sure.PATTERN, ()),
        (f"{START} --tp $X", Sure.UNKNOWN, ("X",)),
        (f"{START} --tp ${{X:?}}", Sure.UNKNOWN, ("X",)),
        (f"{START} --tp $1", Sure.UNKNOWN, ("$1",)),
        (f'{START} --tp "$@"', Sure.UNKNOWN, ("$@",)),
        (f"{START} --tp $(nproc)", Sure.UNKNOWN, ("$(nproc)",)),
        (f"{START} --tp `nproc`", Sure.UNKNOWN, ("`nproc`",)),
        (f"{START} --tp ~/x", Sure.UNKNOWN, ("HOME",)),
        (f"{START} --tp {{1,2}}", Sure.UNKNOWN, ("{1,2}",)),
        (f"{START} --tp $'\\xff'", Sure.UNKNOWN, ("$'\\xff'",)),
        (f"{START} --tp $'\\UFFFFFFFF'", Sure.UNKNOWN, ("$'\\UFFFFFFFF'",)),
        (f"{START} --tp <(x)", Sure.UNKNOWN, ("<(x)",)),
        (f"if a; then X=1; fi; {START} --tp $X", Sure.UNKNOWN, ("X, which line 1 may set",)),
        (f"for X in 1 2; do {START} --tp $X; done", Sure.UNKNOWN, ("X",)),
    ],
)
def test_what_is_not_known_is_named_and_never_guessed(line: str, sure: Sure, needs: tuple[str, ...]) -> None:
    word = only(read(line)).argv[-1]
    assert (word.sure, word.needs) == (sure, needs)


def test_what_the_caller_sets_can_be_told() -> None:
    imported = read(f"{START} --model-path ~/m --tp $TP ${{TP:-8}}", HOME="/home/u", TP="2")
    assert texts(imported) == ["--model-path", "/home/u/m", "--tp", "2", "2"]


def test_what_may_have_been_unset_is_not_known() -> None:
    [word] = only(read(f"A=x\nif cmd; then unset A; fi\n{START} $A")).argv
    assert not word.known


def test_an_unquoted_unknown_may_be_several_words() -> None:
    words = only(read(f'{START} $A "$B"')).argv
    assert [word.loose for word in words] == [True, False]


@pytest.mark.parametrize(
    ("before", "words"),
    [
        ("A=($X b)", ["${A[1]}", "${#A[@]}"]),
        ("A[3]=x; A[0]=y", ["${A[3]}", "${#A[@]}"]),
        ("A+=(x)", ["${A[0]}", "${#A[@]}"]),
        ("set -- $X b", ["$2", "$#"]),
    ],
)
def test_what_follows_an_unknown_number_of_words_cannot_be_counted(before: str, words: list[str]) -> None:
    found = only(read(f"{before}; {START} {' '.join(words)}")).argv
    assert [(word.text, word.known) for word in found] == [(word, False) for word in words]


# What is left.


@pytest.mark.parametrize(
    ("text", "left", "reason"),
    [
        (f"{START} \\\n  --tp 4 \\\n  # --dp 2 \\\n  --port 1\n", "--port 1", "a comment or a missing `\\`"),
        (f"NCCL_DEBUG=INFO\n{START}\n", "NCCL_DEBUG=INFO", "not exported"),
        (f"exec {START}\necho x\n{START}\n", START, "not reached: line 1"),
        (f"f() {{ {START}; }}\n", f"{{ {START}; }}", "f is called nowhere"),
        (f"f() {{ exit; }}\nif x; then f; fi\n{START}\n", "{ exit; }", "f is called only under a condition"),
        (f"source missing.env\n{START}\n", "source missing.env", "what `source` reads"),
        (f"nsys profile -o x {START}\n", "nsys", "in front of the engine"),
        (f"if then (( ;;\n{START}\n", "if", "the parser finds no bash"),
    ],
)
def test_what_is_left_says_why(text: str, left: str, reason: str) -> None:
    found = {remainder.text: remainder.reason for remainder in read(text).remainder}
    assert reason in found[left]


def test_a_start_among_branches_that_the_parser_misreads_is_not_certain() -> None:
    found = read(f"if ! [[ -n 4 ]]\nthen {START} --tp 1; elif [ '' == a${{V%a}}'' ]; then {START} --tp 2\nfi\n")
    assert found.commands
    assert all(command.condition for command in found.commands)


def test_starts_under_a_condition_are_listed_with_it() -> None:
    imported = read(f'if [ "$1" = a ]; then\n  {START} --a\nelse\n  {START} --b\nfi\n{START} --c\n')
    assert [command.condition for command in imported.commands] == ['line 1: if [ "$1" = a ]; then'] * 2 + [""]


def test_a_guard_for_a_file_that_is_here_holds() -> None:
    text = f"[ -f x.env ] && . ./x.env\nif [[ -r y.env ]]; then source y.env; fi\n{START}\n"
    here = read(text, {"x.env": "export X=1", "./x.env": "export X=1", "y.env": "export Y=2"})
    away = read(text)
    assert {name: word.text for name, word in only(here).environment.items()} == {"X": "1", "Y": "2"}
    assert not only(away).environment
    assert list(here.sources) == ["launch.sh", "x.env", "y.env"]


def test_windows_line_ends_are_told() -> None:
    imported = read(f"export A=1\r\n{START} \\\r\n  --tp 4\r\n")
    assert texts(imported) == ["--tp", "4"]
    assert only(imported).environment["A"].text == "1"
    assert "CR LF" in imported.remainder[0].reason


# Around the engine.


def test_programs_in_front_are_prefixes_with_their_words() -> None:
    line = f"nohup numactl -N 0 --membind=0 taskset -c 0-31 nice -n 5 env -u A B=1 sudo -E -u svc C=2 {START} --tp 4 &"
    command = only(read(line))
    assert [" ".join(word.text for word in prefix.words) for prefix in command.prefixes] == [
        "nohup", "numactl -N 0 --membind=0", "taskset -c 0-31", "nice -n 5", "env -u A B=1", "sudo -E -u svc C=2",
    ]  # fmt: skip
    assert {name: word.text for name, word in command.environment.items()} == {"B": "1", "C": "2"}
    assert command.removed == ("A",)
    assert command.background


@pytest.mark.parametrize(
    ("line", "entry", "argv"),
    [
        ("python3 -u -X dev -m sglang.launch_server --tp 4", "module", ["--tp", "4"]),
        ("/opt/v/bin/python3.12 -msglang.launch_server --tp 4", "module", ["--tp", "4"]),
        ('"$PY" -m sglang.launch_server --tp 4', "module", ["--tp", "4"]),
        ("python /opt/sglang/launch_server.py --tp 4", "file", ["--tp", "4"]),
        ("/opt/v/bin/sglang serve /m --tp 4", "serve", ["/m", "--tp", "4"]),
        ("uv run --project x python -m sglang.launch_server", "module", []),
        ("conda run -n e --no-capture-output sglang serve /m", "serve", ["/m"]),
        ("docker run img --tp 4", "image", ["--tp", "4"]),
        ("docker run -it --rm img bash -lc 'cd /x; exec sglang serve /m'", "serve", ["/m"]),
        ("bash -c 'sglang serve $0 $1' zero one", "serve", ["$0", "one"]),
    ],
)
def test_every_way_to_enter_the_engine(line: str, entry: str, argv: list[str]) -> None:
    command = only(read(line))
    assert (command.entry, [word.text for word in command.argv]) == (entry, argv)


def test_other_programs_are_not_the_engine() -> None:
    for line in ("python -m sglang.bench_serving", "python -c 'import sglang.launch_server'", "sglang check", "python"):
        assert not read(line).commands


def test_a_container_has_its_own_environment() -> None:
    line = (
        "docker run -d --gpus '\"device=0,1\"' --ipc=host --shm-size 32g -v /m:/m -e A=1 -eB=2 --env=C=3 -e D -e E "
        "--env-file e.list --ulimit memlock=-1 reg/sglang@sha256:0 sglang serve /m"
    )
    command = only(read(f"export D=4 X=5\n{line}", {"e.list": "# x\nF='6'\nA=0\n"}))
    assert {name: word.text for name, word in command.environment.items()} == {
        "F": "'6'", "A": "1", "B": "2", "C": "3", "D": "4", "E": "${E}",
    }  # fmt: skip
    assert command.environment["E"].needs == ("E",)
    assert command.container is not None
    assert command.container.image is not None
    assert command.container.image.text == "reg/sglang@sha256:0"
    assert [word.text for word in command.container.all("gpus")] == ['"device=0,1"']
    assert [word.text for word in command.container.all("ulimit")] == ["memlock=-1"]


def test_folder_limits_and_virtual_environment() -> None:
    command = only(read(f"cd /srv\nulimit -n 65536 -l unlimited\n. /opt/v/bin/activate\n{START}\n"))
    assert command.folder is not None
    assert command.venv is not None
    assert (command.folder.text, command.venv.text) == ("/srv", "/opt/v")
    assert {name: word.text for name, word in command.limits.items()} == {"nofile": "65536", "memlock": "unlimited"}


# Nothing is lost.


def unaccounted(imported: Imported, text: str) -> str:
    """The text with everything that a piece or a remainder holds blanked out."""
    rows = [list(line) for line in text.split("\n")]
    for place in [*(piece.place for piece in imported.pieces), *(left.place for left in imported.remainder)]:
        if place.file != imported.file:
            continue
        for line in range(place.line, place.end_line + 1):
            start = place.column - 1 if line == place.line else 0
            end = place.end_column - 1 if line == place.end_line else len(rows[line - 1])
            rows[line - 1][start:end] = " " * (end - start)
    return "".join("".join(row).rstrip("\\") for row in rows).strip()


@pytest.mark.parametrize("path", sorted(SCRIPTS.glob("*.sh")), ids=lambda path: path.stem)
def test_every_character_of_a_script_is_accounted_for(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert not unaccounted(read(text), text)


@calm
@given(
    st.lists(
        st.sampled_from(
            [
                "if",
                "then",
                "fi",
                ";",
                "&",
                "&&",
                "||",
                "|",
                "(",
                ")",
                "{",
                "}",
                "$X",
                '"$(a)"',
                "'",
                '"',
                "`",
                "<",
                ">",
                "<<",
                "EOF",
                "\n",
                "\\\n",
                "x=1",
                "a=(",
                ")",
                "python",
                "-m",
                "sglang.launch_server",
                "[",
                "]",
                "for",
                "in",
                "do",
                "done",
                "#",
                "#",
                "case",
                "esac",
                "é",
                "$'",
            ]
        ),
        max_size=15,
    ).map(" ".join)
)
def test_no_text_is_too_broken_to_be_accounted_for(text: str) -> None:
    assert not unaccounted(read(text), text)


# Started from afar.


@pytest.mark.parametrize(
    ("line", "argv", "environment"),
    [
        ("A=1 ssh -p 22 gpu01 'cd /srv && B=2 nohup sglang serve /m --tp 4 > log &'", ["/m", "--tp", "4"], {"B": "2"}),
        ("export A=1; tmux new-session -d -s x 'sglang serve /m --tp 4'", ["/m", "--tp", "4"], {"A": "1"}),
        ("export A=1; tmux new -d -s x sglang serve /m", ["/m"], {"A": "1"}),
        ("export A=1; screen -dmS x sglang serve /m", ["/m"], {"A": "1"}),
        ("export A=1; screen -dmS x bash -c 'sglang serve $A'", ["1"], {"A": "1"}),
        ("eval \"sglang serve '/m x'\"", ["/m x"], {}),
    ],
)
def test_what_a_terminal_or_another_node_is_told_is_followed(
    line: str, argv: list[str], environment: dict[str, str]
) -> None:
    command = only(read(line))
    assert [word.text for word in command.argv] == argv
    assert {name: word.text for name, word in command.environment.items()} == environment


def test_no_character_makes_the_parser_crash() -> None:
    """Its scanner indexes a table by the character behind `{`; a process of its own, should it ever do so again."""
    code = (
        "from dsv4deploy.source.script import script\n"
        "for code in range(0x80, 0x110000, 1997):\n"
        "    if not 0xD800 <= code < 0xE000: script(f'echo {{{chr(code)}', 'x', lambda _: None)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("grows", ["A=$A$A$A$A\n", 'A=("${A[@]}" "${A[@]}")\n'])
def test_a_value_that_doubles_again_and_again_is_not_followed(grows: str) -> None:
    imported = read(f"A=x\n{grows * 40}{START} $A\n")
    assert not only(imported).argv[0].known


def test_what_sets_conda_up_is_no_env_file() -> None:
    text = (
        "source /opt/conda/etc/profile.d/conda.sh\nconda activate sgl\npython -m sglang.launch_server --model-path /m\n"
    )
    [command] = (imported := script(text, "launch.sh", lambda _: None)).commands
    assert command.env_files == ()
    assert [left.place.line for left in imported.remainder] == [1, 2]
