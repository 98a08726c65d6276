"""The rehearsal engine accepts and refuses the same command lines as the catalogue, with the same values."""

import argparse
import contextlib
import io
from collections.abc import Callable, Sequence
from functools import cache
from types import ModuleType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dsv4deploy.flags import history
from dsv4deploy.model.flag import Flag
from dsv4deploy.source.argv import parse

Module = Callable[[str, str], ModuleType]
VERSIONS = ["0.5.9", "0.5.13.post1", "0.5.17", "0.5.20", "0.5.23"]
# Not `--`: what argparse makes of it differs between releases of Python.
VALUES = st.sampled_from(
    ["1", "0", "-1", "0.5", "32", "128k", "1.5Ki", "auto", "x", "", "none", "[1]", "{}", "triton", "true"]
)


@cache
def parser(module: ModuleType) -> argparse.ArgumentParser:
    built: argparse.ArgumentParser = module.build(module.RECORD["flags"])
    return built


def rehearsed(module: ModuleType, words: Sequence[str]) -> dict[str, Any] | None:
    """The values of the rehearsal's parser; None if it refuses."""
    try:
        with contextlib.redirect_stderr(io.StringIO()), contextlib.redirect_stdout(io.StringIO()):
            return vars(parser(module).parse_args(list(words)))
    except (SystemExit, AssertionError):
        return None


def plain(value: Any) -> Any:
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value]
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    return value


def written(flag: Flag, names: st.DataObject) -> list[str]:
    """One flag with a value that may fit or not."""
    name = names.draw(st.sampled_from(flag.names))
    if flag.nargs == 0:
        return [name]
    choices = [str(choice) for choice in flag.choices or ()]
    fitting: bool = names.draw(st.booleans())
    drawn: st.SearchStrategy[Any] = st.sampled_from(choices) if choices and fitting else VALUES
    value = names.draw(drawn)
    forms = [[name, value], [f"{name}={value}"], [name]]
    return forms[names.draw(st.integers(0, 2))]


@pytest.mark.parametrize("version", VERSIONS)
@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_it_accepts_what_the_catalogue_accepts(version: str, data: st.DataObject, module: Module) -> None:
    catalogue = history().at(version)
    flags = data.draw(st.lists(st.sampled_from(list(catalogue.flags.values())), max_size=4))
    words = ["--model-path", "m", *(word for flag in flags for word in written(flag, data))]
    ours = parse(words, catalogue)
    theirs = rehearsed(module(version, "parser"), words)
    assert (theirs is not None) == (not ours.errors), (words, ours.errors)
    if theirs is not None:
        given_values = {dest: plain(given.value) for dest, given in ours.given.items()}
        assert {dest: plain(theirs[dest]) for dest in given_values} == given_values


@pytest.mark.parametrize("version", VERSIONS)
def test_an_empty_command_line_needs_a_model_and_the_rest_are_defaults(version: str, module: Module) -> None:
    assert rehearsed(module(version, "parser"), []) is None
    values = rehearsed(module(version, "parser"), ["--model-path", "m"])
    assert values is not None
    defaults = {dest: plain(value) for dest, value in history().at(version).defaults.items() if dest != "model_path"}
    assert {dest: plain(values[dest]) for dest in defaults} == defaults
