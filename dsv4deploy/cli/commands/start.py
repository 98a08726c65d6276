"""Start the current release of a deployment on every node.

Example: dsv4deploy start -i gpu.ini --name flash
"""

from dsv4deploy.cli.fleet_options import AnsibleWords, AskBecomePass, Become, Forks, Inventory, Limit, Name, ShowAnsible

GROUP = "Deploy"
ORDER = 5


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
    return serving.act(options, name, "start", "started")
