"""Inventories in every shape that Ansible reads are read by Ansible, with what they keep secret."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.ansible import Options, hosts, play

INI = "[gpu]\na\nb\n"
SCRIPT = """#!/bin/sh
echo '{"gpu": {"hosts": ["a", "b"], "vars": {"color": "red"}}}'
"""
SSH = """#!/bin/sh
echo "$@" >>"$0.log"
exit 255
"""
PASSWORD = "canary-5b1e07"  # noqa: S105 (it opens nothing but what this test closes)


def inventories(folder: Path, shape: str) -> tuple[str, ...]:
    """Two nodes of a group that has a color, in this shape."""
    if shape == "YAML":
        (folder / "hosts.yml").write_text("gpu: {hosts: {a: {}, b: {}}, vars: {color: red}}\n")
        return (str(folder / "hosts.yml"),)
    if shape == "script":
        (folder / "hosts.sh").write_text(SCRIPT)
        (folder / "hosts.sh").chmod(0o755)
        return (str(folder / "hosts.sh"),)
    (folder / "hosts.ini").write_text(INI)
    if shape == "several":
        (folder / "more.yml").write_text("gpu: {vars: {color: red}}\n")
        return (str(folder / "hosts.ini"), str(folder / "more.yml"))
    (folder / "group_vars").mkdir()
    (folder / "group_vars/gpu.yml").write_text("color: red\n")
    return (str(folder),)


@pytest.mark.parametrize("shape", ["YAML", "script", "several", "folder"])
def test_an_inventory_in_any_shape_is_read(tmp_path: Path, shape: str) -> None:
    found = hosts(Options(inventories(tmp_path, shape)))
    assert [(one.name, one.groups, one.variables["color"]) for one in found] == [
        ("a", frozenset({"gpu"}), "red"),
        ("b", frozenset({"gpu"}), "red"),
    ]


def test_encrypted_variables_need_their_password(tmp_path: Path) -> None:
    read = inventories(tmp_path, "folder")
    secret, key = tmp_path / "group_vars/gpu.yml", tmp_path.with_name("key")
    key.write_text(PASSWORD)
    vault = Path(sys.executable).with_name("ansible-vault")
    subprocess.run([vault, "encrypt", "--vault-password-file", key, secret], check=True, capture_output=True)
    with pytest.raises(Trouble, match=r"(?i)vault"):
        hosts(Options(read))
    for words in (
        Options(read, vault_password=PASSWORD),
        Options(read, extra=("--vault-password-file", str(key))),
        Options(read, extra=(f"--vault-password-file={key}",)),
    ):
        assert hosts(words)[0].variables["color"] == "red"


@pytest.mark.parametrize("limit", ["a,gpu20", "all:!gpu20"])
def test_a_limit_that_names_what_is_not_there_is_refused(tmp_path: Path, limit: str) -> None:
    with pytest.raises(Trouble, match="has no node or group gpu20") as refused:
        hosts(Options(inventories(tmp_path, "YAML"), limit))
    assert refused.value.code is Exit.USAGE


@pytest.mark.parametrize(
    ("name", "text", "told"),
    [
        ("hosts.ini", "[gpu]\nthis is not: it\n", "Expected key=value host variable assignment, got: is"),
        ("hosts.yml", "gpu: {hosts: [\n", "hosts.yml:2"),
    ],
)
def test_an_inventory_that_cannot_be_read_is_told_with_the_reason(
    tmp_path: Path, name: str, text: str, told: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(Trouble, match=re.escape(told)):
        hosts(Options((str(tmp_path / name),)))


def test_a_password_is_not_shown() -> None:
    assert PASSWORD not in repr(Options((), vault_password=PASSWORD, become_password=PASSWORD))


def said_to_ssh(folder: Path, *extra: str) -> list[str]:
    """The words that ssh gets when a node is asked anything; the inventory and Ansible's configuration stand beside."""
    play("observe", Options(("hosts.ini",), extra=extra), nodes=["a"], variables={}, by_node={}, tell=lambda _: None)
    return (folder / "ssh.log").read_text().split()


@pytest.mark.parametrize("where", ["configuration", "inventory", "environment", "words"])
def test_what_is_said_to_ssh_anywhere_arrives_and_a_lost_node_is_still_noticed(
    where: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    hosts.cache_clear()
    (tmp_path / "ssh").write_text(SSH)
    (tmp_path / "ssh").chmod(0o755)
    in_configuration = "ssh_extra_args = -o User=mine" if where == "configuration" else ""
    (tmp_path / "ansible.cfg").write_text(f"[ssh_connection]\nssh_executable = {tmp_path}/ssh\n{in_configuration}\n")
    in_inventory = " ansible_ssh_extra_args='-o User=mine'" if where == "inventory" else ""
    (tmp_path / "hosts.ini").write_text(f"[gpu]\na ansible_host=192.0.2.1{in_inventory}\n")
    if where == "environment":
        monkeypatch.setenv("ANSIBLE_SSH_EXTRA_ARGS", "-o User=mine")
    words = ("--ssh-extra-args", "-o User=mine") if where == "words" else ()
    said = said_to_ssh(tmp_path, *words)
    assert {"User=mine", "ServerAliveInterval=5"} <= set(said)
