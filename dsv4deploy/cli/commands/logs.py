"""Show the last lines of the log of a deployment on each node.

Example: dsv4deploy logs -i gpu.ini --limit gpu01 -n 50
"""

from typing import Annotated

import typer

from dsv4deploy.cli.fleet_options import AnsibleWords, AskBecomePass, Become, Forks, Inventory, Limit, Name, ShowAnsible

GROUP = "Observe"
ORDER = 2


def command(
    *,
    inventory: Inventory = [],  # noqa: B006 (typer copies it)
    name: Name = None,
    limit: Limit = None,
    lines: Annotated[int, typer.Option("-n", "--lines", min=1, help="How many lines of each node.")] = 100,
    forks: Forks = 16,
    become: Become = False,
    ask_become_pass: AskBecomePass = False,
    ansible_arg: AnsibleWords = [],  # noqa: B006 (likewise)
    ansible: ShowAnsible = False,
) -> int:
    from dsv4deploy.cli import fleet, serving
    from dsv4deploy.model.trouble import Exit

    options = fleet.options(
        inventory,
        limit=limit,
        forks=forks,
        become=become,
        ask_become_pass=ask_become_pass,
        extra=ansible_arg,
        show=ansible,
    )
    seen = serving.seen(options)
    chosen = serving.meant(seen, name)
    nodes = [node for node, _, _ in serving.deployments(seen, chosen)]
    for node, event in serving.ask(options, nodes, "logs", chosen, dsv4_lines=lines).items():
        for line in event.answer.get("lines") or [fleet.reason(event)]:
            print(f"{node}  {line}" if len(nodes) > 1 else line)
    lost = serving.unreachable(seen)
    for line in lost:
        print(line)
    return Exit.APPLY_FAILED if lost else Exit.FINE
