"""Commands with sub-commands of which one may be left out."""

from typing import Any

import typer
from typer.core import TyperArgument, TyperGroup

DEFAULT = "show"


class ShowsByDefault(TyperGroup):
    """`flags NAME` is `flags show NAME`, and so for every command of this kind."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put the name of the command in front where it is left out; not while the shell asks what could come next."""
        left_out = not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names)
        if left_out and not (ctx.resilient_parsing and not args):
            args = [DEFAULT, *args]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:  # noqa: ANN401 (typer keeps these types to itself)
        """What the command that may be left out takes: it is what a person types."""
        return self.commands[DEFAULT].collect_usage_pieces(ctx)

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 (likewise)
        """The options of that command, and then the sub-commands."""
        self.commands[DEFAULT].format_options(ctx, formatter)
        self.format_commands(ctx, formatter)

    def shell_complete(self, ctx: Any, incomplete: str) -> list[Any]:  # noqa: ANN401 (typer keeps these types to itself)
        """The sub-commands, and what the one that may be left out takes first."""
        first = next((one for one in self.commands[DEFAULT].params if isinstance(one, TyperArgument)), None)
        return [*super().shell_complete(ctx, incomplete), *(first.shell_complete(ctx, incomplete) if first else ())]
