"""Runs our playbooks through ansible-runner, and reads inventories through Ansible itself.

The private data of a run holds no secret and is removed. Host keys are checked; a node that vanishes is noticed
within seconds.
"""

import contextlib
import json
import os
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.resources import as_file
from pathlib import Path
from typing import Any

from dsv4deploy.model.event import Event, Kind
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.nodetool import build
from dsv4deploy.rim.shipped import shipped
from dsv4deploy.stages.assign import Host

# Without these a connection to a node that vanished hangs for minutes, whatever Ansible's own timeout says.
_ALIVE = "-o ServerAliveInterval=5 -o ServerAliveCountMax=3"
_QUESTION = r"^BECOME password.*:\s*?$"
# How long it may take until an interrupt is heard.
_ATTENTION_S = 1
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
        raise Trouble(f"Ansible cannot read the inventory: {_last(done.stderr)}")
    found = _hosts(json.loads(done.stdout))
    if not found:
        of = f" with --limit {options.limit}" if options.limit else ""
        raise Trouble(f"{', '.join(options.inventories)} has no nodes{of}", code=Exit.USAGE)
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
        for event in _events(raw):
            events.append(event)
            tell(event)
        return False

    with tempfile.TemporaryDirectory(prefix="dsv4deploy-") as private, as_file(shipped("playbooks")) as playbooks:
        own, tool = Path(private, "nodes.json"), Path(private, "node.pyz")
        tool.write_bytes(build())
        # Where this file is already, ansible-runner does not write down the passwords that it is given.
        Path(private, "env").mkdir()
        Path(private, "env/passwords").write_text("{}")
        own.write_text(json.dumps({"all": {"hosts": {node: dict(by_node.get(node, {})) for node in nodes}}}))
        with _handed_over(options.vault_password) as vault:
            result = ansible_runner.run(
                private_data_dir=private,
                project_dir=str(playbooks),
                playbook=f"{name}.yml",
                inventory=[*_absolute(options), str(own)],
                extravars={"dsv4_hosts": list(nodes), "dsv4_tool": str(tool), **variables},
                cmdline=shlex.join([*_become(options), *vault, *options.extra]) or None,
                passwords={_QUESTION: options.become_password} if options.become_password else None,
                forks=options.forks,
                quiet=not options.show,
                event_handler=hear,
                cancel_callback=stopping,
                envvars=_environment(options),
                settings={"suppress_env_files": True, "pexpect_timeout": _ATTENTION_S},
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
    extra = os.environ.get("ANSIBLE_SSH_EXTRA_ARGS", "")
    return {
        **os.environ,
        "PATH": f"{bin_}{os.pathsep}{os.environ.get('PATH', os.defpath)}",
        "ANSIBLE_HOST_KEY_CHECKING": "True",
        "ANSIBLE_SSH_EXTRA_ARGS": f"{extra} {_ALIVE}".strip(),
        "ANSIBLE_TIMEOUT": os.environ.get("ANSIBLE_TIMEOUT", "10"),
        "ANSIBLE_FORKS": str(options.forks),
        "ANSIBLE_NOCOLOR": "1",
        "ANSIBLE_RETRY_FILES_ENABLED": "False",
        "ANSIBLE_DEPRECATION_WARNINGS": "False",
    }


def _program(name: str) -> str:
    beside = Path(sys.executable).parent / name
    return str(beside) if beside.exists() else name


def _last(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else "it did not say why"
