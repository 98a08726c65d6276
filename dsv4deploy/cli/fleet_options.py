"""Options of the commands that work on nodes, so that they are named and explained once."""

from pathlib import Path
from typing import Annotated

import typer

Inventory = Annotated[
    list[str],
    typer.Option(
        "-i", "--inventory", metavar="PATH", help="An Ansible inventory; repeatable. ./inventory.ini if left out."
    ),
]
OptionalProfile = Annotated[
    Path | None,
    typer.Argument(
        metavar="[PROFILE]", help="The profile; ./profile.yaml, or what the inventory assigns, if left out."
    ),
]
Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The deployment; may be left out where a node has one.")
]
Limit = Annotated[
    str | None, typer.Option("--limit", metavar="NODES", help="Only these nodes or groups, as Ansible has it.")
]
Forks = Annotated[int, typer.Option("--forks", min=1, help="How many nodes are worked on at once.")]
Become = Annotated[bool, typer.Option("--become", "-b", help="Become root on the nodes.")]
AskBecomePass = Annotated[
    bool, typer.Option("--ask-become-pass", "-K", help="Ask for the password that becoming root needs.")
]
AnsibleWords = Annotated[
    list[str],
    typer.Option(
        "--ansible-arg", metavar="WORD", help="A further word for ansible-playbook, such as -vvv; repeatable."
    ),
]
ShowAnsible = Annotated[bool, typer.Option("--ansible", help="Show Ansible's own output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before running servers go down.")]
Serial = Annotated[
    str,
    typer.Option("--serial", metavar="N,N", help="Sizes of the batches, in nodes or percent; the last one repeats."),
]
