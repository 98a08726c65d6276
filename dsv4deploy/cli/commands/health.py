"""Ask running servers whether they are healthy: endpoints, completions, settings, log, metrics, cards.

Nothing harms the server: one request at a time, none is asked again once it is too busy to answer, and `/ready` is
preferred where the version has it. Without an inventory, `--url` names one server.

    dsv4deploy health -i gpu.ini
    dsv4deploy health -i gpu.ini --watch --every 30
    dsv4deploy health --url http://127.0.0.1:30000 --profile profile.yaml
"""

from pathlib import Path
from typing import Annotated

import typer

from dsv4deploy.cli.completing import check_names
from dsv4deploy.cli.fleet_options import Name, Reach, if_on_nodes
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Observe"
ORDER = 2


@if_on_nodes
def command(
    *,
    reach: Reach,
    name: Name = None,
    url: Annotated[str | None, typer.Option("--url", metavar="URL", help="One server instead of an inventory.")] = None,
    profile: Annotated[
        Path | None,
        typer.Option("--profile", metavar="FILE", help="With --url: the profile whose health section counts."),
    ] = None,
    api_key_file: Annotated[
        Path | None, typer.Option("--api-key-file", metavar="FILE", help="With --url: holds the server's key.")
    ] = None,
    capacity: Annotated[
        bool, typer.Option("--capacity", help="Also send the longest prompt, as often at once as must be served.")
    ] = False,
    only: Annotated[
        list[str],
        typer.Option("--only", metavar="CHECK", autocompletion=check_names, help="Only this check; repeatable."),
    ] = [],  # noqa: B006 (likewise)
    watch: Annotated[bool, typer.Option("--watch", help="Keep asking until interrupted; tell what changes.")] = False,
    every: Annotated[
        int, typer.Option("--every", "--interval", min=10, metavar="SECONDS", help="Pause between two rounds.")
    ] = 60,
    mark: Annotated[bool, typer.Option("--mark/--no-mark", help="Mark a configuration that fails.")] = True,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import functools
    import sys
    import time

    from dsv4deploy.cli import checking, house
    from dsv4deploy.model.diagnostic import Refused
    from dsv4deploy.model.trouble import Exit, Trouble
    from dsv4deploy.node.checks.every import CHECKS

    unknown = [one for one in only if one not in CHECKS]
    if unknown:
        raise Trouble(f"there is no check {unknown[0]}", f"one of {', '.join(CHECKS)}", Exit.USAGE)
    as_json = output_format is Format.JSON
    options = functools.cache(reach.options)  # passwords are asked for once
    before = checking.Asked({}, ())
    while True:
        try:
            if url:
                checkup = checking.one(url, profile, api_key_file, capacity=capacity, only=only)
                chosen, asked = "", checking.Asked({url: checkup}, ())
            else:
                chosen, asked = checking.fleet(options(), name, capacity=capacity, only=only)
        except Refused as refused:
            return house.show_refusal(refused, as_json=as_json)
        sys.stdout.write(checking.report(asked, before, chosen, mark=mark and not url, as_json=as_json, watch=watch))
        before = asked
        sys.stdout.flush()
        if not watch:
            return checking.code(asked)
        time.sleep(every)
