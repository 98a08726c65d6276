"""Runs our playbooks through ansible-runner, and reads inventories through Ansible itself.

The private data of a run holds no secret and is removed. Host keys are checked; a node that vanishes is noticed
within seconds.
"""

import configparser
import contextlib
import functools
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim import ending, scratch
from dsv4deploy.rim.nodetool import build
from dsv4deploy.rim.shipped import shipped
from dsv4deploy.stages.assign import Host

# Without these a connection to a node that vanished hangs for minutes, whatever Ansible's own timeout says.
_ALIVE = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"
_SSH_ARGS = "--ssh-extra-args"
_QUESTION = r"^BECOME password.*:\s*?$"
# How long it may take until an interrupt is heard.
_ATTENTION_S = 1
# What Ansible says of an inventory: of names in a limit, of a file that a plugin could not read, and where.
_UNMATCHED = re.compile(r"Could not match supplied host pattern, ignoring: (\S+)")
_REFUSED = re.compile(r"Failed to parse inventory with '\w+' plugin: (?:Failed to parse inventory: )?(.+)")
_ORIGIN = re.compile(r"^Origin: (\S+:\d+)", re.MULTILINE)
_GROUPS_ALWAYS = {"all", "ungrouped"}


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line passes to Ansible."""

    inventories: tuple[str, ...]
    limit: str | None = None
    forks: int = 16
    become: bool = False
    extra: tuple[str, ...] = ()
    show: bool = False
    become_password: str | None = field(default=None, repr=False)
    vault_password: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class Played:
    """All events of a run, in their order, and what Ansible printed if it could not even begin."""

    events: tuple[Event, ...]
    began: bool
    output: str = field(default="", repr=False)


@functools.lru_cache(maxsize=1)  # one command has one inventory, and every run on its nodes needs it
def hosts(options: Options) -> tuple[Host, ...]:
    """The nodes of the inventories with their groups and variables, in Ansible's order.

    Raises:
        Trouble: an inventory is missing or cannot be read, or the limit leaves nothing.
    """
    for inventory in options.inventories:
        if not Path(inventory).exists() and "," not in inventory:
            raise Trouble(
                f"there is no inventory {inventory}", "name one with -i; an INI file with a [gpu] group will do"
            )
    words = [_program("ansible-inventory"), "--list", *_named(options)]
    words += ["--limit", options.limit] if options.limit else []
    with _handed_over(options.vault_password) as vault:
        words += [*_of_vault(options.extra), *vault]
        done = subprocess.run(words, capture_output=True, text=True, check=False, env=_environment(options))
    # Ansible warns of an inventory that no plugin can read, and goes on with none.
    if done.returncode or "Unable to parse" in done.stderr:
        raise Trouble(f"Ansible cannot read the inventory: {_why_unread(done.stderr)}", _how_to_read(done.stderr))
    found, where = _hosts(json.loads(done.stdout)), ", ".join(options.inventories)
    strange = _UNMATCHED.findall(done.stderr) if options.limit else []
    if strange:  # Ansible would go on without it, or without leaving it out
        see = shlex.join(["ansible-inventory", *_named(options), "--graph"])
        raise Trouble(f"{where} has no node or group {strange[0]}", f"see what it has: {see}", Exit.USAGE)
    if not found:
        of = f" with --limit {options.limit}" if options.limit else ""
        raise Trouble(f"{where} has no nodes{of}", "add them, for instance below [gpu]", Exit.USAGE)
    return found


def play(
    name: str,
    options: Options,
    *,
    nodes: Sequence[str],
    variables: Mapping[str, Any],
    by_node: Mapping[str, Mapping[str, Any]],
    tell: Callable[[Event], None],
    begin: Callable[[str], None] = lambda _: None,
    stopping: Callable[[], bool] = lambda: False,
) -> Played:
    """Run the playbook `name` on `nodes`, and ask `stopping` whether to end.

    `begin` hears of every node that is worked on, as often as a task begins on it, and `tell` of every step that ended.

    `variables` hold for all nodes, `by_node` for single ones.
    """
    import ansible_runner  # noqa: PLC0415 (half a second that only a run should cost)

    events: list[Event] = []

    def hear(raw: Mapping[str, Any]) -> bool:
        if raw.get("event") == "runner_on_start":
            begin(str(raw["event_data"]["host"]))
        heard = _events(raw)
        events.extend(heard)  # all of them, whatever becomes of the telling
        for event in heard:
            tell(event)
        return False

    with scratch.folder("ansible") as private, as_file(shipped("playbooks")) as playbooks:
        own, tool = private / "nodes.json", private / "node.pyz"
        tool.write_bytes(build())
        # Where this file is already, ansible-runner does not write down the passwords that it is given.
        (private / "env").mkdir()
        (private / "env/passwords").write_text("{}")
        kept = _kept_alive(options)
        variables_of = {node: {**kept.get(node, {}), **by_node.get(node, {})} for node in nodes}
        own.write_text(json.dumps({"all": {"hosts": variables_of}}))
        # In the midst of it an interrupt would leave a process behind, or end in words of its libraries.
        with ending.postponed() as asked, _handed_over(options.vault_password) as vault:
            result = ansible_runner.run(
                private_data_dir=str(private),
                project_dir=str(playbooks),
                playbook=f"{name}.yml",
                inventory=[*_absolute(options), str(own)],
                extravars={"dsv4_hosts": list(nodes), "dsv4_tool": str(tool), **variables},
                cmdline=shlex.join([*_become(options), *vault, *_ssh_args(options)[1]]) or None,
                passwords={_QUESTION: options.become_password} if options.become_password else None,
                forks=options.forks,
                quiet=not options.show,
                event_handler=hear,
                cancel_callback=lambda: bool(asked) or stopping(),
                envvars=_environment(options),
                settings={"pexpect_timeout": _ATTENTION_S},
            )
            # Read while the artifacts exist: afterwards ansible-runner waits for them for a minute.
            output = "" if events else result.stdout.read()
    return Played(tuple(events), bool(events), output)


def _events(raw: Mapping[str, Any]) -> tuple[Event, ...]:
    """One event for each verb that shared the trip; a start that still goes on has not ended its step."""
    kinds = {
        "runner_on_ok": Kind.OK,
        "runner_retry": Kind.RETRY,
        "runner_on_failed": Kind.FAILED,
        "runner_on_unreachable": Kind.UNREACHABLE,
    }
    kind, data = kinds.get(str(raw.get("event"))), raw.get("event_data") or {}
    if kind is None or "host" not in data:
        return ()
    answer = dict(data.get("res") or {})
    if kind in {Kind.OK, Kind.RETRY} and "verb" not in answer:
        return ()  # a step of Ansible's own, which is news only when it fails
    node, task, before = str(data["host"]), str(data.get("task", "")), answer.pop("before", ())
    if kind is Kind.OK and answer.get("state") == "progressing":
        kind = Kind.RETRY
    last = Event(node, str(answer.get("verb") or data.get("task_action") or ""), kind, answer, task)
    return (*(Event(node, str(one["verb"]), Kind.OK, one, task) for one in before), last)


def _hosts(listed: Mapping[str, Any]) -> tuple[Host, ...]:
    variables = listed.get("_meta", {}).get("hostvars", {})
    members: dict[str, list[str]] = {}
    groups = {name: group for name, group in listed.items() if name != "_meta"}

    def below(name: str) -> list[str]:
        group = groups.get(name, {})
        if name not in members:
            members[name] = [*group.get("hosts", []), *(h for child in group.get("children", []) for h in below(child))]
        return members[name]

    names = dict.fromkeys(below("all"))
    of = {name: {group for group in groups if group not in _GROUPS_ALWAYS and name in below(group)} for name in names}
    return tuple(Host(name, frozenset(of[name]), variables.get(name, {})) for name in names)


def _named(options: Options) -> list[str]:
    return [word for inventory in _absolute(options) for word in ("-i", inventory)]


def _absolute(options: Options) -> list[str]:
    return [one if "," in one else str(Path(one).absolute()) for one in options.inventories]


def _become(options: Options) -> list[str]:
    # Ansible reads this password from no file that is only in memory, so that it is answered when it asks.
    asking = ["--ask-become-pass"] if options.become_password else []
    return ["--become", *asking] if options.become else []


def _of_vault(words: Sequence[str]) -> list[str]:
    """Those of the words for Ansible that say how to read encrypted variables, with their values."""
    found = [index for index, word in enumerate(words) if word.startswith("--vault")]
    return [word for index in found for word in words[index : index + (1 if "=" in words[index] else 2)]]


@contextlib.contextmanager
def _handed_over(password: str | None) -> Iterator[list[str]]:
    """The words that hand the vault's password over in memory, so that it stands in no file, argument or environment."""
    if password is None:
        yield []
        return
    handle = os.memfd_create("password")
    try:
        os.fchmod(handle, 0o400)  # Ansible would run a password file that can be executed
        os.write(handle, password.encode())
        yield ["--vault-password-file", f"/proc/{os.getpid()}/fd/{handle}"]
    finally:
        os.close(handle)


def _environment(options: Options) -> dict[str, str]:
    bin_ = str(Path(sys.executable).parent)
    config = _config()
    theirs = _ssh_args(options)[0] or os.environ.get("ANSIBLE_SSH_EXTRA_ARGS") or _configured_ssh_args(config)
    return {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        # A run has a folder of its own, where Ansible would not find the one beside the inventory.
        **({"ANSIBLE_CONFIG": config} if config else {}),
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_SSH_EXTRA_ARGS": f"{theirs} {_ALIVE}".strip(),
        "ANSIBLE_TIMEOUT": os.environ.get("ANSIBLE_TIMEOUT", "10"),
        "ANSIBLE_FORKS": str(options.forks),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }


def _config() -> str | None:
    """The configuration of Ansible that holds where we are; None if there is none."""
    from ansible.config.manager import find_ini_config_file  # noqa: PLC0415 (a tenth of a second that only a run should cost)

    found = find_ini_config_file()
    return str(Path(os.fsdecode(found)).absolute()) if found else None


def _configured_ssh_args(config: str | None) -> str:
    read = configparser.RawConfigParser()
    with contextlib.suppress(configparser.Error, UnicodeDecodeError):  # Ansible itself will say what is wrong with it
        read.read([config] if config else [])
    return read.get("ssh_connection", "ssh_extra_args", fallback="")


def _ssh_args(options: Options) -> tuple[str, list[str]]:
    """What the words for Ansible say to ssh, and the other words: said there, it would replace what we say."""
    words, said = list(options.extra), ""
    for index in reversed([index for index, word in enumerate(words) if word.partition("=")[0] == _SSH_ARGS]):
        taken = words[index : index + (1 if "=" in words[index] else 2)]
        del words[index : index + len(taken)]
        said = said or (taken[0].partition("=")[2] if len(taken) == 1 else taken[1])
    return said, words


def _kept_alive(options: Options) -> dict[str, dict[str, str]]:
    """The variables of nodes of which the inventory says itself what ssh is told: both are said."""
    said = {host.name: host.variables.get("ansible_ssh_extra_args") for host in hosts(options)}
    return {node: {"ansible_ssh_extra_args": f"{words} {_ALIVE}"} for node, words in said.items() if words}


def _program(name: str) -> str:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def _why_unread(said: str) -> str:
    """The first reason that Ansible gives; the lines after it tell the same of every plugin that it tried."""
    refused = _REFUSED.search(said)
    place = _ORIGIN.search(said)
    if refused:
        return refused[1].strip() + (f" ({place[1]})" if place else "")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    return lines[-1].removeprefix("[ERROR]: ") if lines else "it did not say why"


def _how_to_read(said: str) -> str:
    if "vault" in said.lower() and "decrypt" in said.lower():
        return "its encrypted variables need their password: --ask-vault-pass, or --vault-password-file FILE"
    return "see all that it says: ansible-inventory --list -i INVENTORY"
