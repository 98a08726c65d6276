"""Argument words are read as the engine reads them, all errors at once, and written so that they read the same."""

import math
from collections.abc import Iterator

import pytest
from argvs import values
from hypothesis import given
from hypothesis import strategies as st

from dsv4deploy.flags import history
from dsv4deploy.model.argv import (
    AmbiguousFlag,
    ForeignFlag,
    HelpAsked,
    InvalidChoice,
    MissingFlag,
    MissingValue,
    OtherVersionFlag,
    Parsed,
    RefusedFlag,
    UnexpectedValue,
    UnknownFlag,
    WrongType,
)
from dsv4deploy.model.flag import Flag
from dsv4deploy.model.launch import Json
from dsv4deploy.source.argv import parse, spelled

NEWEST = history().versions[-1]
MODEL = ("--model-path", "m")


def read(line: str, version: str = NEWEST) -> Parsed:
    return parse([*MODEL, *line.split()], history().at(version), history())


def some_values(flag: Flag) -> Iterator[Json]:
    """Values at the edges of what the flag can hold."""
    if flag.action in {"store-true", "store-false", "store-const", "boolean-optional"}:
        present: dict[str, list[Json]] = {"store-true": [True], "store-false": [False], "store-const": [flag.const]}
        yield from present.get(flag.action, [True, False])
        return
    texts = ["", "x", "--dashed", "-1", "- -", "a b", "é", "'\"$(x)", "{}", "None "]
    typed: dict[str, list[Json]] = {
        "int": [0, -7, 10**12],
        "human-int": [0, -7, 10**12],
        "nullable-str": [None, "x", "-x"],
        "float": [0.0, -0.5, 1e-300, math.inf, -math.inf],
        "json": [None, True, (), (1, ("a",)), {"k": {"l": 1.5}}, "text", -3],
        "json-list": [(), ({"a": 1},), ("-x",)],
        "graph-config": [{}, *({phase: {key: 1}} for phase, keys in (flag.keys or {}).items() for key in keys)],
    }
    one = list(flag.choices) if flag.choices else typed.get(flag.type, list(texts))
    if flag.nargs in {"*", "+"}:
        yield from ((each,) for each in one if flag.action != "lora-paths" or each == "x")
        plain = [each for each in one if not str(each).startswith(("-", "{", "None ")) and each not in {"", math.inf}]
        yield tuple(plain[:3])
    else:
        yield from one


@pytest.mark.parametrize("version", history().versions)
def test_every_flag_of_every_release_is_written_so_that_it_reads_the_same(version: str) -> None:
    catalogue = history().at(version)
    for flag in catalogue.flags.values():
        if flag.action in {"ignore", "refuse"}:
            continue
        for value in some_values(flag):
            words = () if flag.dest == "model_path" else MODEL
            parsed = parse([*words, *spelled(flag, value)], catalogue)
            assert parsed.errors == (), (flag.name, value)
            held = parsed.values[flag.dest] if spelled(flag, value) else flag.default
            assert held == value, flag.name


@given(st.data())
def test_any_value_is_written_so_that_it_reads_the_same(data: st.DataObject) -> None:
    catalogue = history().at(data.draw(st.sampled_from(history().versions)))
    usable = [flag for flag in catalogue.flags.values() if flag.action not in {"ignore", "refuse"}]
    flag = data.draw(st.sampled_from(usable))
    value = data.draw(values(flag))
    words = spelled(flag, value)
    parsed = parse([*(() if flag.dest == "model_path" else MODEL), *words], catalogue)
    assert parsed.errors == ()
    assert not words or parsed.values[flag.dest] == value


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("--tp-size", "four"),
        ("--tp-size", True),
        ("--served-model-name", 7),
        ("--served-model-name", "--"),
        ("--quantization-param-path", ""),
        ("--mem-fraction-static", "0.6"),
        ("--trust-remote-code", "yes"),
        ("--cuda-graph-bs-decode", ()),
        ("--cuda-graph-bs-decode", 4),
        ("--lora-target-modules", ("q_proj", "-x")),
    ],
)
def test_a_value_that_no_words_say_is_refused_with_what_the_flag_needs(name: str, value: Json) -> None:
    flag = history().at(NEWEST).flag(name)
    assert flag
    with pytest.raises(ValueError, match=r"\w"):
        spelled(flag, value)


def test_a_value_that_starts_with_a_dash_is_joined_to_its_flag() -> None:
    flag = history().at(NEWEST).flag("--served-model-name")
    assert flag
    assert spelled(flag, "-x") == ("--served-model-name=-x",)
    assert spelled(flag, "x") == ("--served-model-name", "x")


def test_abbreviations_aliases_and_joined_values_mean_their_flag() -> None:
    parsed = read("--tp 4 --tensor-parallel-size=8 --ep 2 --context-length 128Ki --served m")
    assert parsed.errors == ()
    assert parsed.values["tp_size"] == 8
    assert parsed.values["ep_size"] == 2
    assert parsed.values["context_length"] == 131072
    assert parsed.given["served_model_name"].spelling == "--served"


def test_the_last_one_wins_and_the_others_are_told() -> None:
    parsed = read("--tp 4 --port 1 --tp-size 8")
    assert parsed.given["tp_size"].words == (6, 7)
    assert [(given.spelling, given.value, given.words) for given in parsed.shadowed] == [("--tp", 4, (2, 3))]


def test_all_errors_are_told_at_once_in_the_order_of_the_words() -> None:
    parsed = read(
        "--tp four --attention-backend flashinfr --trust-remote-code true --gpu-memory-utilization 0.9 "
        "--cuda-graph-max-bs 32 --enable-d 1 stray --mem-fraction-statik 0.5 --cuda-graph-bs-decode"
    )
    kinds = [type(error) for error in parsed.errors]
    assert kinds == [
        WrongType, InvalidChoice, UnexpectedValue, ForeignFlag, AmbiguousFlag, AmbiguousFlag, UnknownFlag, MissingValue,
    ]  # fmt: skip


def test_an_unknown_flag_names_the_nearest() -> None:
    [error] = read("--mem-fraction-statik 0.5").errors
    assert isinstance(error, UnknownFlag)
    assert error.nearest[0] == "--mem-fraction-static"
    [underscored] = read("--tp_size 4").errors
    assert isinstance(underscored, UnknownFlag)
    assert underscored.nearest[0] == "--tp-size"


def test_a_flag_of_another_release_tells_its_life() -> None:
    [removed] = read("--nsa-decode-backend fa3").errors
    assert isinstance(removed, OtherVersionFlag)
    assert removed.life.renamed_to == ("--dsa-decode-backend",)
    [early] = read("--cuda-graph-max-bs-decode 4", "0.5.13.post1").errors
    assert isinstance(early, OtherVersionFlag)
    assert early.life.since == "0.5.14"


def test_an_ambiguous_name_that_was_a_flag_once_tells_its_life() -> None:
    [error] = read("--cuda-graph-max-bs 32").errors[:1]
    assert isinstance(error, AmbiguousFlag)
    assert error.candidates == ("--cuda-graph-max-bs-decode", "--cuda-graph-max-bs-prefill")
    assert error.life
    assert error.life.until == "0.5.19"


def test_a_refused_flag_says_what_the_engine_says() -> None:
    [error] = read("--enable-expert-distribution-metrics", "0.5.19").errors
    assert isinstance(error, RefusedFlag)
    assert "--expert-balancedness-report-mode" in str(error.flag.successor)


def test_help_and_the_missing_model_are_told() -> None:
    parsed = parse(["--help"], history().at(NEWEST))
    assert [type(error) for error in parsed.errors] == [HelpAsked, MissingFlag]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("--context-length 128K", "k, M, G, T"),
        ("--context-length 1.5Ki", "before Ki"),
        ("--mem-fraction-static half", "a number"),
        ('--cuda-graph-config {"decode":{"max":1}}', "max is none"),
        ('--cuda-graph-config {"warm":{}}', "warm is none"),
        ("--cuda-graph-config []", "JSON object"),
        ('--cuda-graph-config {"prefill":{"backend":"tc_piecewise"}}', "has removed tc_piecewise"),
        ('--lora-paths {"lora_name":"n"}', "lora_path"),
    ],
)
def test_a_word_of_the_wrong_type_says_what_is_needed(line: str, wanted: str) -> None:
    [error] = read(line).errors
    assert isinstance(error, WrongType)
    assert wanted in error.wanted
