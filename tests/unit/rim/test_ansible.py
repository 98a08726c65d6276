"""Inventories in every shape that Ansible reads are read by Ansible, with what they keep secret."""

import subprocess
import sys
from pathlib import Path

import pytest

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.ansible import Options, hosts

INI = "[gpu]\na\nb\n"
SCRIPT = """#!/bin/sh
echo '{"gpu": {"hosts": ["a", "b"], "vars": {"color": "red"}}}'
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


def test_a_password_is_not_shown() -> None:
    assert PASSWORD not in repr(Options((), vault_password=PASSWORD, become_password=PASSWORD))
