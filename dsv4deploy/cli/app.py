"""Finds the commands, runs one, and turns whatever happens into an exit code."""

import contextlib
import errno
import functools
import importlib
import inspect
import os
import sys
import textwrap
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import typer

from dsv4deploy.cli import commands
from dsv4deploy.model.trouble import Exit, Trouble

# Set by the shell while it asks for completions.
COMPLETION = "_DSV4DEPLOY_COMPLETE"
# What is so on this machine, and no fault of a program.
_NO_BUGS = {
    *(errno.ENOENT, errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOTDIR, errno.EISDIR),
    *(errno.ENOSPC, errno.EDQUOT, errno.ENAMETOOLONG, errno.ELOOP),
}
# What a stream answers that is written to: there is no room, the terminal is gone.
_OF_STREAMS = {errno.ENOSPC, errno.EIO}
# The steps of the flow, in the order in which `--help` shows them; a command names its own as `GROUP`.
GROUPS = ("Check", "Render", "Deploy", "Observe", "Diagnose", "Knowledge")


def run(words: Sequence[str]) -> int:
    """Run the command line `words` and return its exit code; nothing but a code ever leaves."""
    if COMPLETION not in os.environ and (not words or words[0] in ("-h", "--help")):
        print(overview())
        return Exit.FINE
    try:
        application(words)(args=list(words), prog_name="dsv4deploy")
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else Exit.FINE
    return Exit.FINE


def command_names() -> list[str]:
    """Every command, as a person types it."""
    [folder] = commands.__path__
    return sorted(
        _typed(found.stem) for found in Path(folder).iterdir() if found.suffix == ".py" and found.stem != "__init__"
    )


def overview() -> str:
    """What `--help` says: every command with its first sentence, by the step of the flow.

    Written here, because the help of a framework loads all that it could ever show before it shows a line.
    """
    lines = ["Describe, check, render and deploy SGLang servers on bare machines.", "", "Usage: dsv4deploy COMMAND ..."]
    modules = sorted(((name, command_module(name)) for name in command_names()), key=_order)
    for group in GROUPS:
        told = [(name, module) for name, module in modules if group == module.GROUP]
        lines += ["", f"{group}:"] if told else []
        lines += [f"  {name:<15} {(module.__doc__ or '').splitlines()[0]}" for name, module in told]
    return "\n".join(
        [*lines, "", "dsv4deploy COMMAND --help explains one; --version; --install-completion, --show-completion."]
    )


def _order(named: tuple[str, ModuleType]) -> tuple[int, int, str]:
    name, module = named
    return GROUPS.index(module.GROUP), getattr(module, "ORDER", 99), name


def application(words: Sequence[str]) -> typer.Typer:
    """The framework's application, with the command that `words` name, or with all."""
    app = typer.Typer(
        help="Describe, check, render and deploy SGLang servers on bare machines.",
        no_args_is_help=True,
        context_settings={"help_option_names": ["-h", "--help"]},
        pretty_exceptions_enable=False,
        rich_markup_mode=None,
    )

    @app.callback()
    def top(
        *,
        version: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True),
    ) -> None:
        pass

    # Completion and help ask for all commands; anything else loads just the one that is named.
    names = command_names()
    wanted = [words[0]] if words and words[0] in names and COMPLETION not in os.environ else names
    modules = [(name, command_module(name)) for name in wanted]
    for name, module in sorted(modules, key=_order):
        _add(app, name, module)
    return app


def _add(app: typer.Typer, name: str, module: ModuleType) -> None:
    if hasattr(module, "app"):
        for info in module.app.registered_commands:
            info.help = _laid_out(inspect.getdoc(info.callback))
            info.short_help = info.help.partition("\n")[0]
            info.callback = _ends_in_a_code(info.callback)
        app.add_typer(module.app, name=name, help=_laid_out(module.__doc__))
    else:
        app.command(name, help=_laid_out(module.__doc__))(_ends_in_a_code(module.command))


def _laid_out(text: str | None) -> str:
    """A docstring as the framework wants it: paragraphs are filled, command lines stay as they are."""
    paragraphs = (text or "").strip("\n").split("\n\n")
    return "\n\n".join(_as_it_is(one) if one.startswith((" ", "dsv4deploy ")) else one for one in paragraphs)


def _as_it_is(paragraph: str) -> str:
    return "\b\n" + textwrap.indent(textwrap.dedent(paragraph), "    ")


def command_module(name: str) -> ModuleType:
    """The file of the command `name`."""
    # `import` is a word of the language, so that its file is called `import_.py`.
    stem = name.replace("-", "_")
    stem = f"{stem}_" if stem == "import" else stem
    return importlib.import_module(f"dsv4deploy.cli.commands.{stem}")


def _typed(stem: str) -> str:
    return stem.rstrip("_").replace("_", "-")


def _ends_in_a_code(command: Callable[..., Any]) -> Callable[..., None]:
    """Let `command` return its exit code, and tell expected trouble, interrupts and bugs as a user should read them."""

    @functools.wraps(command)
    def ended(*args: object, **options: object) -> None:
        try:
            code = command(*args, **options)
        except Trouble as trouble:
            code = _tell(trouble)
        except KeyboardInterrupt:
            with contextlib.suppress(OSError):  # a lost terminal interrupts too
                print("interrupted", file=sys.stderr)
            code = Exit.INTERRUPTED
        except BrokenPipeError:
            # The reader (`| head`) has gone; Python would complain once more while it flushes at exit.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            code = Exit.FINE
        except typer.Exit:
            raise
        except OSError as error:
            if error.errno in _OF_STREAMS and error.filename is None:
                raise  # nobody's bug; the door tells it
            code = _of_this_machine(error) if error.errno in _NO_BUGS and error.filename else _own_bug(error)
        except Exception as bug:  # noqa: BLE001 (the last resort of the house: never a traceback)
            code = _refusal_or_bug(bug)
        raise typer.Exit(int(code or 0))

    return ended


def _tell(trouble: Trouble) -> int:
    print(f"error: {trouble.message}", file=sys.stderr)
    if trouble.remedy:
        print(f"  = remedy: {trouble.remedy}", file=sys.stderr)
    return trouble.code


def _of_this_machine(error: OSError) -> int:
    return _tell(Trouble(f"{error.filename} cannot be read or written: {error.strerror}", "see who may: ls -ld"))


def _refusal_or_bug(caught: Exception) -> int:
    """What a text was refused for where no command had a word of its own for it, or else a bug."""
    from dsv4deploy.model.diagnostic import Refused

    if not isinstance(caught, Refused):
        return _own_bug(caught)
    from dsv4deploy.cli import house

    return house.show_refusal(caught, as_json=False)


def _own_bug(bug: Exception) -> int:
    import platform
    import tempfile
    import traceback

    from dsv4deploy import __version__

    head = f"dsv4deploy {__version__}, Python {platform.python_version()}, {platform.platform()}\n\n"
    with tempfile.NamedTemporaryFile("w", prefix="dsv4deploy-bug-", suffix=".log", delete=False) as log:
        log.write(head + "".join(traceback.format_exception(bug)))
    print(f"error: a bug in dsv4deploy: {type(bug).__name__}: {str(bug)[:200]}", file=sys.stderr)
    print(f"  = remedy: please report it with {Path(log.name)}", file=sys.stderr)
    return Exit.UNREADABLE
