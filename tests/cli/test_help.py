"""The help of each command: its first sentence, its command lines whole, its options without noise."""

import pytest

from dsv4deploy.cli.app import command_module, command_names, run


@pytest.mark.parametrize("name", command_names())
def test_the_help_of_a_command_shows_its_command_lines_as_they_are_typed(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([name, "--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    typed = [line.strip() for line in (command_module(name).__doc__ or "").splitlines()]
    examples = [line for line in typed if line.startswith("dsv4deploy ")]
    assert set(examples) <= {line.strip() for line in lines}
    assert examples or any(line.strip().startswith("Example: dsv4deploy ") for line in lines)
    assert not any("<bool>" in line for line in lines)
    assert lines[0].startswith(f"Usage: dsv4deploy {name} ")


@pytest.mark.parametrize(("name", "takes"), [("explain", "{RULE|"), ("flags", "[name]"), ("rules", "[OPTIONS]")])
def test_a_command_that_may_leave_its_verb_out_shows_what_it_takes(
    name: str, takes: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run([name, "--help"]) == 0
    assert takes in capsys.readouterr().out.splitlines()[0]


@pytest.mark.parametrize("words", [[name] for name in command_names()] + [["kernels", "status"], ["kernels", "revert"]])
def test_whatever_works_on_nodes_reaches_them_in_every_way(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert run([*words, "--help"]) == 0
    said = capsys.readouterr().out
    ways = ["--forks", "--become", "--ask-become-pass", "--vault-password-file", "--ask-vault-pass", "--ansible-arg"]
    assert "--inventory" not in said or [way for way in ways if way not in said] == []
    assert "range>" not in said
