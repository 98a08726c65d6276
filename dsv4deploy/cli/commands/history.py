"""Show what was done to each deployment on each node, and which releases are kept there.

Example: dsv4deploy history -i gpu.ini --limit gpu01
"""

from dsv4deploy.cli.fleet_options import AnsibleWords, AskBecomePass, Become, Forks, Inventory, Limit, Name, ShowAnsible
from dsv4deploy.cli.options import Format, OutputFormat

GROUP = "Observe"
ORDER = 3


def command(
    *,
    inventory: Inventory = [],  # noqa: B006 (typer copies it)
    name: Name = None,
    limit: Limit = None,
    forks: Forks = 16,
    become: Become = False,
    ask_become_pass: AskBecomePass = False,
    ansible_arg: AnsibleWords = [],  # noqa: B006 (likewise)
    ansible: ShowAnsible = False,
    output_format: OutputFormat = Format.TEXT,
) -> int:
    import sys

    from dsv4deploy.cli import fleet, serving
    from dsv4deploy.model.trouble import Exit
    from dsv4deploy.views import serving as view

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
    answers = serving.ask(options, [node for node, _, _ in serving.deployments(seen, chosen)], "history", chosen)
    told = {node: dict(event.answer) for node, event in answers.items()}
    lost = serving.unreachable(seen)
    if output_format is Format.JSON:
        sys.stdout.write(serving.machine("history/1", {"name": chosen, "nodes": told, "unreachable": lost}))
    else:
        sys.stdout.write(view.history(told) + "".join(f"{line}\n" for line in lost))
    return Exit.APPLY_FAILED if lost else Exit.FINE
