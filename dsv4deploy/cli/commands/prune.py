"""Remove old releases from the nodes; the current one, and one that a trial may go back to, always stay.

Example: dsv4deploy prune -i gpu.ini --keep 2
"""

from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import AnsibleWords, AskBecomePass, Become, Forks, Inventory, Limit, Name, ShowAnsible

GROUP = "Deploy"
ORDER = 8


def command(
    *,
    inventory: Inventory = [],  # noqa: B006 (typer copies it)
    name: Name = None,
    limit: Limit = None,
    keep: Annotated[int, typer.Option("--keep", min=1, help="How many releases stay.")] = 5,
    forks: Forks = 16,
    become: Become = False,
    ask_become_pass: AskBecomePass = False,
    ansible_arg: AnsibleWords = [],  # noqa: B006 (likewise)
    ansible: ShowAnsible = False,
) -> int:
    from dsv4deploy.cli import fleet, serving

    options = fleet.options(
        inventory,
        limit=limit,
        forks=forks,
        become=become,
        ask_become_pass=ask_become_pass,
        extra=ansible_arg,
        show=ansible,
    )
    return serving.act(options, name, "prune", "pruned", dsv4_keep=keep)
