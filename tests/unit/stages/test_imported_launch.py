"""A start as the engine version reads it: values, places, and what is said about what is not known."""

import pytest

from dsv4deploy.flags import history
from dsv4deploy.model.argv import ArgvError
from dsv4deploy.model.imported import Imported
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.script import script
from dsv4deploy.stages.imported_launch import chosen, fitting, launch_of
from dsv4deploy.stages.launch import Lowered

START = "python -m sglang.launch_server"


def read(text: str) -> Imported:
    return script(text, "launch.sh", lambda _: None)


def lowered(line: str, version: str | None = "0.5.13.post1") -> Lowered:
    return launch_of(chosen(read(line)), version, history())


def values(line: str) -> dict[str, object]:
    return {dest: setting.value for dest, setting in lowered(line).launch.settings.items()}


def kinds(line: str) -> list[type[ArgvError]]:
    return [type(error) for error, _ in lowered(line).errors]


def test_aliases_equals_signs_and_repetitions_mean_what_they_mean_to_the_engine() -> None:
    line = f"{START} --model /m --tensor-parallel-size=2 --tp 4 --mem-fraction-static .9 --trust-remote-code"
    assert values(line) == {"model_path": "/m", "tp_size": 4, "mem_fraction_static": 0.9, "trust_remote_code": True}
    assert [told.rule for told in lowered(line).diagnostics] == ["repeated-flag"]


def test_a_setting_stands_where_its_value_was_written() -> None:
    launch = lowered(f"TP=4\n{START} --model-path /m --tp $TP\n").launch
    assert str(launch.settings["tp_size"].place) == "launch.sh:1:4"
    assert launch.settings["tp_size"].words == ("--tp-size", "4")


def test_serve_takes_the_model_without_a_flag() -> None:
    assert values("sglang serve /m --tp 4") == {"model_path": "/m", "tp_size": 4}


def test_variables_come_with_their_place() -> None:
    launch = lowered(f"export A=1\n{START} --model-path /m").launch
    assert (launch.environment["A"].value, str(launch.environment["A"].place)) == ("1", "launch.sh:1:10")


@pytest.mark.parametrize(
    ("arguments", "settings"),
    [
        ("--model-path /m --port $PORT --tp 4", ["model_path", "tp_size"]),
        ("--model-path /m --port=$PORT --tp 4", ["model_path", "tp_size"]),
        ("--model-path $MODEL --tp 4", ["tp_size"]),
        ('--tp 4 "$@"', ["tp_size"]),
        ("--model-path /m $EXTRA --tp 4", ["model_path", "tp_size"]),
        ("--model-path /m --trust-remote-code $EXTRA", ["model_path", "trust_remote_code"]),
    ],
)
def test_what_is_not_known_is_told_and_makes_no_error_of_its_own(arguments: str, settings: list[str]) -> None:
    found = lowered(f"{START} {arguments}")
    assert found.errors == ()
    assert list(found.launch.settings) == settings
    assert [told.rule for told in found.diagnostics] == ["unknown-word"]


def test_errors_stand_at_the_word_that_is_wrong() -> None:
    errors = lowered(f"{START} --model-path /m --gpu-memory-utilization 0.9 --dtype flot").errors
    assert [str(place) for _, place in errors] == ["launch.sh:1:48", "launch.sh:1:85"]


def test_without_a_version_the_newest_that_objects_least_reads_it() -> None:
    command = chosen(read(f"{START} --model-path /m --cuda-graph-max-bs 32 --enable-piecewise-cuda-graph"))
    assert fitting(command, history()) == "0.5.13.post1"
    assert launch_of(command, None, history()).launch.version is None


def test_one_of_several_starts_has_to_be_chosen() -> None:
    imported = read(f"{START} --a\nif x; then {START} --b; fi\n")
    with pytest.raises(Trouble, match="starts 2 servers") as trouble:
        chosen(imported)
    assert "2: line 2 (line 2: if x;" in trouble.value.remedy
    assert [word.text for word in chosen(imported, 2).argv] == ["--b"]
    with pytest.raises(Trouble, match="no start 3"):
        chosen(imported, 3)


def test_a_file_without_a_start_says_what_it_did_not_understand() -> None:
    with pytest.raises(Trouble, match="starts no SGLang server") as trouble:
        chosen(read("./start-it\n"))
    assert "launch.sh:1:1" in trouble.value.remedy


def test_an_abbreviation_is_told_only_where_a_newer_version_would_refuse_it() -> None:
    assert lowered(f"{START} --model-path /m --tp 4").diagnostics == ()
    doubtful = lowered(f"{START} --model-path /m --cuda-graph-max 4").diagnostics
    assert [told.rule for told in doubtful] == ["abbreviated-flag"]


@pytest.mark.parametrize(
    ("arguments", "settings", "taker"),
    [
        ("--tp $TP $MORE --model-path /m", ["model_path"], "--tp"),
        ("--tensor-par $TP --model-path /m", ["model_path"], "--tensor-par"),
        ("--model-path /m --cuda-graph-bs 1 2 $MORE", ["model_path"], "--cuda-graph-bs"),
        ("--model-path /m --tp 4 $MORE", ["model_path", "tp_size"], ""),
        ("--model-path /m --trust-remote-code $MORE", ["model_path", "trust_remote_code"], ""),
    ],
)
def test_an_unknown_word_takes_away_the_flag_whose_value_it_is(arguments: str, settings: list[str], taker: str) -> None:
    found = lowered(f"{START} {arguments}")
    assert sorted(found.launch.settings) == settings
    assert next(told.names for told in found.diagnostics if told.rule == "unknown-word") == ((taker,) if taker else ())
    assert found.errors == ()


GROWING = 'OPTS="--model-path /m --tp 4"\nARGS=($OPTS)\nif [ "$1" = draft ]; then\n{}\nfi\n' + START + " {}\n"


@pytest.mark.parametrize(
    ("body", "use", "known"),
    [
        ("ARGS+=(--port 1)", '"${ARGS[@]}"', {"model_path": "/m", "tp_size": 4}),
        ('OPTS="$OPTS --port 1"', "$OPTS", {"model_path": "/m", "tp_size": 4}),
        ('OPTS+="0"', "$OPTS", {"model_path": "/m"}),
        ("ARGS=(--model-path /n)", '"${ARGS[@]}"', {}),
        ("OPTS=--port", "$OPTS", {}),
    ],
)
def test_what_a_branch_only_adds_to_stays_known(body: str, use: str, known: dict[str, object]) -> None:
    found = lowered(GROWING.format(body, use))
    assert {dest: setting.value for dest, setting in found.launch.settings.items()} == known
    assert "unknown-word" in {told.rule for told in found.diagnostics}
    assert found.errors == ()


@pytest.mark.parametrize(
    ("start", "told"),
    [
        ("python -m sglang.launch_server --model-path $M", "--model-path takes its value from M, which this file does not set"),
        ("if a; then export X=1; fi; python -m sglang.launch_server --model-path m", "X is not known here: line 1 may set it"),
        (
            "if a; then X=1; fi; python -m sglang.launch_server --model-path m --tp $X",
            "--tp is not known here: it needs X, which line 1 may set",
        ),
    ],
)  # fmt: skip
def test_what_is_not_known_is_said_without_contradiction(start: str, told: str) -> None:
    found = launch_of(chosen(read(start)), "0.5.13.post1", history())
    assert told in [one.message for one in found.diagnostics]
