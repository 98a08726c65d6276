"""Options of the commands that work on nodes, so that they are named and explained once."""

import functools
import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

if TYPE_CHECKING:
    from dsv4deploy.rim.ansible import Options

# What `on_nodes` gives; what talks to Ansible is loaded only when a command runs.
Nodes: TypeAlias = "Options"
_FIRST = {"inventory", "limit"}  # which nodes; how they are reached comes last in a command's help
Inventory = Annotated[
    list[str],
    typer.Option(
        "-i", "--inventory", metavar="PATH", help="An Ansible inventory; repeatable. ./inventory.ini if left out."
    ),
]
OptionalProfile = Annotated[
    Path | None,
    typer.Argument(metavar="PROFILE", help="The profile; ./profile.yaml, or what the inventory assigns, if left out."),
]
Name = Annotated[
    str | None, typer.Option("--name", metavar="NAME", help="The deployment; may be left out where a node has one.")
]
Limit = Annotated[
    str | None, typer.Option("--limit", metavar="NODES", help="Only these nodes or groups, as Ansible has it.")
]
Forks = Annotated[int, typer.Option("--forks", min=1, metavar="N", help="How many nodes are worked on at once.")]
Become = Annotated[bool, typer.Option("--become", "-b", help="Become root on the nodes.")]
AskBecomePass = Annotated[
    bool, typer.Option("--ask-become-pass", "-K", help="Ask for the password that becoming root needs.")
]
VaultFile = Annotated[
    str | None,
    typer.Option(
        "--vault-password-file", metavar="FILE", help="The password of encrypted variables, as Ansible has it."
    ),
]
AskVaultPass = Annotated[
    bool, typer.Option("--ask-vault-pass", "-J", help="Ask for the password of encrypted variables.")
]
AnsibleWords = Annotated[
    list[str],
    typer.Option(
        "--ansible-arg",
        metavar="WORD",
        help="A further word for ansible-playbook, such as -vvv or --ssh-common-args=...; repeatable.",
    ),
]
ShowAnsible = Annotated[bool, typer.Option("--ansible", help="Show Ansible's own output.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before running servers go down.")]
Serial = Annotated[
    str,
    typer.Option("--serial", metavar="N,N", help="Sizes of the batches, in nodes or percent; the last one repeats."),
]
Checksums = Annotated[
    bool,
    typer.Option("--checksums", help="Read every file of the model and compare it with its sha256: takes minutes."),
]


@dataclass(frozen=True, slots=True)
class Reach:
    """How nodes are reached, as the command line says it; passwords are asked for once `options` are."""

    inventory: Sequence[str] = ()
    limit: str | None = None
    forks: int = 16
    become: bool = False
    ask_become_pass: bool = False
    vault_password_file: str | None = None
    ask_vault_pass: bool = False
    ansible_arg: Sequence[str] = ()
    ansible: bool = False

    def options(self) -> Nodes:
        """The same for Ansible.

        Raises:
            Trouble: no inventory is named, and there is none where it usually is; or there is nobody to ask.
        """
        from dsv4deploy.cli import fleet

        return fleet.options(
            self.inventory,
            limit=self.limit,
            forks=self.forks,
            become=self.become,
            ask_become_pass=self.ask_become_pass,
            vault_password_file=self.vault_password_file,
            ask_vault_pass=self.ask_vault_pass,
            extra=self.ansible_arg,
            show=self.ansible,
        )


def on_nodes(command: Callable[..., int]) -> Callable[..., int]:
    """Give a command on nodes the options that all of them share; it has them as its one argument `options`."""
    return _sharing(command, "options", Reach.options)


def if_on_nodes(command: Callable[..., int]) -> Callable[..., int]:
    """The same for a command that may do without nodes; it has them as its argument `reach`."""
    return _sharing(command, "reach", lambda reach: reach)


def on_one_node(command: Callable[..., int]) -> Callable[..., int]:
    """The same for a command whose argument is the node, and nothing else limits it."""
    return _sharing(command, "reach", lambda reach: reach, without="limit")


def _sharing(
    command: Callable[..., int], argument: str, given_as: Callable[[Reach], object], *, without: str = ""
) -> Callable[..., int]:
    own = [one for one in inspect.signature(command).parameters.values() if one.name != argument]
    shared = [one for one in inspect.signature(_reach).parameters.values() if one.name != without]

    @functools.wraps(command)
    def with_options(**given: Any) -> int:  # noqa: ANN401 (whatever the command line says)
        reach = _reach(**{one.name: given.pop(one.name) for one in shared})
        return command(**{argument: given_as(reach)}, **given)

    front = [one for one in own if one.kind is not one.KEYWORD_ONLY]
    first = [one for one in shared if one.name in _FIRST]
    arranged = [*front, *first, *own[len(front) :], *(one for one in shared if one not in first)]
    # What the framework reads off a function is its signature.
    with_options.__signature__ = inspect.Signature(arranged, return_annotation=int)  # type: ignore[attr-defined]
    with_options.__annotations__ = {one.name: one.annotation for one in arranged}
    return with_options


def _reach(
    *,
    inventory: Inventory = [],  # noqa: B006 (typer copies it)
    limit: Limit = None,
    forks: Forks = 16,
    become: Become = False,
    ask_become_pass: AskBecomePass = False,
    vault_password_file: VaultFile = None,
    ask_vault_pass: AskVaultPass = False,
    ansible_arg: AnsibleWords = [],  # noqa: B006 (likewise)
    ansible: ShowAnsible = False,
) -> Reach:
    return Reach(
        tuple(inventory),
        limit,
        forks,
        become,
        ask_become_pass,
        vault_password_file,
        ask_vault_pass,
        tuple(ansible_arg),
        ansible,
    )
