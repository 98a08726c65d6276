"""Asks the nodes of an inventory what they have, and says in a person's words why one does not answer."""

import getpass
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsv4deploy.cli.told_by_node import known
from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.observed import Observation
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ansible
from dsv4deploy.rim.record import controller, is_gone, who

_USUAL_INVENTORY = "inventory.ini"


def options(
    inventories: Sequence[str],
    *,
    limit: str | None = None,
    forks: int = 16,
    become: bool = False,
    ask_become_pass: bool = False,
    vault_password_file: str | None = None,
    ask_vault_pass: bool = False,
    extra: Sequence[str] = (),
    show: bool = False,
) -> ansible.Options:
    """What the command line passes to Ansible; passwords are asked for here, once.

    Raises:
        Trouble: no inventory is named, and there is none where it usually is; or there is nobody to ask.
    """
    if not inventories and not Path(_USUAL_INVENTORY).exists():
        raise Trouble("no inventory", "name one: -i gpu.ini", Exit.USAGE)
    ansible.hosts.cache_clear()
    vault = ("--vault-password-file", str(Path(vault_password_file).absolute())) if vault_password_file else ()
    return ansible.Options(
        tuple(inventories) or (_USUAL_INVENTORY,),
        limit,
        forks,
        become or ask_become_pass,
        (*vault, *extra),
        show,
        become_password=_asked_for("sudo password", "--become-password-file") if ask_become_pass else None,
        vault_password=_asked_for("vault password", "--vault-password-file") if ask_vault_pass else None,
    )


def _asked_for(what: str, instead: str) -> str:
    if not sys.stdin.isatty():
        raise Trouble(f"the {what} is needed, and there is nobody to ask", f"--ansible-arg={instead}=FILE", Exit.USAGE)
    return getpass.getpass(f"{what}: ")


def observe(
    options: ansible.Options,
    by_node: Mapping[str, Sequence[str]],
    *,
    facts: bool = True,
    take_over: bool = False,
    checksums: bool = False,
) -> dict[str, Observation | str]:
    """What each node answers, or why it does not; one trip a node."""
    found: dict[str, Observation | str] = {}

    def hear(event: Event) -> None:
        if event.kind is Kind.OK and event.step == "observe":
            found[event.node] = Observation.model_validate(event.answer)
        elif event.kind in {Kind.FAILED, Kind.UNREACHABLE}:
            found[event.node] = reason(event)

    played = ansible.play(
        "observe",
        options,
        nodes=list(by_node),
        variables={"dsv4_facts": facts, "dsv4_take_over": take_over, "dsv4_checksums": checksums},
        by_node={node: {"dsv4_bundles": list(folders)} for node, folders in by_node.items()},
        tell=hear,
    )
    begun(played)
    return {node: found.get(node, "no answer") for node in by_node}


def everything(options: ansible.Options) -> dict[str, Facts | str]:
    """The facts of every node of the inventory, or why there are none."""
    seen = observe(options, {host.name: [] for host in ansible.hosts(options)})
    return {node: one if isinstance(one, str) else known(one.facts) for node, one in seen.items()}


def begun(played: ansible.Played) -> None:
    """See that Ansible could begin at all.

    Raises:
        Trouble: it could not, with what it said.
    """
    if not played.began:
        lines = [line for line in played.output.splitlines() if line.strip()]
        raise Trouble(
            f"Ansible could not begin: {lines[-1] if lines else 'it said nothing'}", "see all of it with --ansible"
        )


def reason(event: Event) -> str:
    """Why a node failed, and what to do about it, in one line."""
    told = str(event.answer.get("msg") or "no reason given").strip()
    for sign, remedy in _REMEDIES:
        if sign in told:
            return remedy
    return next(iter(told.splitlines()), "no reason given")


# What sudo and ssh say, and what a person does about it; the first one that fits counts.
_REMEDIES = (
    (
        "sudo: Permission denied",
        "there is no sudo that this user may run on it: connect as root, or leave out --become",
    ),
    ("sudo: not found", "there is no sudo on it: connect as root, or install sudo"),
    ("sudo: command not found", "there is no sudo on it: connect as root, or install sudo"),
    ("sudo: unknown user", "there is no such user to become on it: check ansible_become_user"),
    ("IDENTIFICATION HAS CHANGED", "its host key is not the one that is known: find out why, then ssh-keygen -R it"),
    ("Host key verification failed", "its host key is not known: ssh to it once and look at the key"),
    ("Permission denied", "ssh does not let this user in: check ansible_user and its key"),
    ("No route to host", "cannot be reached: no route to host"),
    ("Connection timed out", "cannot be reached: connection timed out"),
    ("timed out", "cannot be reached: it does not answer"),
    ("Connection refused", "cannot be reached: ssh refuses the connection"),
    ("Could not resolve hostname", "cannot be reached: its name cannot be resolved"),
    ("a password is required", "becoming root needs a password: use --ask-become-pass"),
    ("Missing sudo password", "becoming root needs a password: use --ask-become-pass"),
    (
        "Incorrect sudo password",
        "the sudo password is wrong: give it with --ask-become-pass, or correct the inventory's",
    ),
    ("no vault secrets found", "a variable is encrypted: use --ask-vault-pass or --vault-password-file"),
    ("no vault secrets were found that could decrypt", "the vault's password is another one than its variables have"),
    ("Network is unreachable", "cannot be reached: there is no network to it"),
    ("kex_exchange_identification", "cannot be reached: the connection ended before ssh began: see its jump host"),
    ("is not in the sudoers file", "this user may not become root there"),
    ("Data could not be sent to remote host", "cannot be reached: the connection broke off"),
)


def holder(token: str, gone: frozenset[str]) -> dict[str, Any]:
    """Who works on the nodes, as their locks shall say."""
    return {"token": token, "who": who(), "controller": controller(), "gone": sorted(gone)}


def gone_from(seen: Mapping[str, Observation | str]) -> frozenset[str]:
    """The tokens of applies whose controller was on this machine and is dead: their locks do not count."""
    locks = [
        d.lock for one in seen.values() if isinstance(one, Observation) for d in one.deployments.values() if d.lock
    ]
    return frozenset(lock.token for lock in locks if is_gone(lock.controller))
