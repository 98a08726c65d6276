"""What the reference page says of each command: its own help."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer.main

from dsv4deploy.cli.app import application, command_module


@dataclass(frozen=True, slots=True)
class CommandPage:
    """What the reference says of one command: its own help, without colour."""

    name: str
    group: str
    order: int
    text: str


def command_page(name: str) -> CommandPage:
    """The help of the command `name`, for the reference."""
    module = command_module(name)
    about, _, example = (module.__doc__ or "").strip().partition("\n\nExample: ")
    shown = f"{about}\n\n    {example}" if example else about
    return CommandPage(name, module.GROUP, getattr(module, "ORDER", 99), "\n".join([shown, *_options(name)]))


def _options(name: str) -> Iterator[str]:
    """A row for each argument and option, of each subcommand if there are some."""
    top = typer.main.get_command(application([name]))
    command = top.commands[name]  # type: ignore[attr-defined] # an application has commands
    for words, one in _leaves(command, ()):
        rows = [
            f"| `{' '.join(parameter.opts)}` | {parameter.help or ''} |"
            for parameter in one.params
            if parameter.name != "help"
        ]
        yield "" if not words else f"\n#### {name} {' '.join(words)}\n\n{(one.help or '').strip()}\n"
        yield from (["| option | meaning |", "|---|---|", *rows] if rows else [])


def _leaves(command: Any, words: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:  # noqa: ANN401 (typer's own classes are private)
    commands = getattr(command, "commands", None)
    if commands is None:
        yield words, command
    else:
        for name, one in commands.items():
            yield from _leaves(one, (*words, name))
