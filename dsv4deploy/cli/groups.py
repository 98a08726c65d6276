"""Commands with sub-commands of which one may be left out."""

import typer
from typer.core import TyperGroup


class ShowsByDefault(TyperGroup):
    """`flags NAME` is `flags show NAME`, and so for every command of this kind."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        """Put the name of the command in front where it is left out."""
        if not args or (args[0] not in self.commands and args[0] not in ctx.help_option_names):
            args = ["show", *args]
        return super().parse_args(ctx, args)
