"""Passwords are asked for once, on a terminal, and stand nowhere afterwards."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pexpect  # type: ignore[import-untyped]  # (it comes with ansible-runner, without types)
import pytest
from desk import BIN, Desk

SECRET = "canary-5b1e07"  # noqa: S105 (it opens nothing but what this test closes)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A user whose inventory tells the folder of the deployments only to who knows the password."""
    one = Desk(tmp_path)
    (tmp_path / "nodes/group_vars").mkdir(parents=True)
    (tmp_path / "nodes/hosts.ini").write_text("[gpu]\nhere ansible_connection=local\n")
    secret, key = tmp_path / "nodes/group_vars/gpu.yml", tmp_path / "key"
    secret.write_text(f"dsv4_root: {tmp_path}/root\n")
    key.write_text(SECRET)
    subprocess.run([BIN / "ansible-vault", "encrypt", "--vault-password-file", key, secret], check=True)
    key.unlink()
    yield one
    one.wipe()


def test_a_password_is_asked_for_once_and_nowhere_to_be_seen(desk: Desk) -> None:
    words = ["apply", "-i", "nodes", "--ask-vault-pass", "--yes"]
    running = pexpect.spawn(str(BIN / "dsv4deploy"), words, cwd=desk.folder, timeout=120, encoding="utf-8")
    running.expect_exact("vault password: ")
    running.sendline(SECRET)
    running.expect(pexpect.EOF)
    said = str(running.before)
    running.close()
    assert (running.exitstatus, "vault password" in said, SECRET in said) == (0, False, False), said
    assert (desk.folder / "root/flash/current").is_symlink()
    assert not [path for path in desk.folder.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def test_where_there_is_nobody_to_ask_that_is_told(desk: Desk) -> None:
    code, out = desk.run("status", "--ask-become-pass")
    assert (code, "there is nobody to ask" in out) == (2, True), out
