"""Why a node does not answer is told in a person's words, with what to do about it."""

import pytest

from dsv4deploy.cli.fleet import reason
from dsv4deploy.model.event import Event, Kind


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("root@gpu01: Permission denied (publickey,password).", "check ansible_user and its key"),
        ("Premature end of stream.\n>>> Standard Error\n/bin/sh: 1: sudo: Permission denied", "no sudo that this user"),
        ("/bin/sh: 1: sudo: not found", "install sudo"),
        ("bash: line 1: sudo: command not found", "install sudo"),
        ("sudo: unknown user bob | sudo: error initializing audit plugin", "check ansible_become_user"),
        ("sudo: a password is required", "--ask-become-pass"),
        ("@ WARNING: REMOTE HOST IDENTIFICATION HAS CHANGED! @\nHost key verification failed.", "ssh-keygen -R"),
        ("Host key verification failed.", "ssh to it once"),
        ("ssh: connect to host gpu01 port 22: No route to host", "no route to host"),
        ("something new\nand more", "something new"),
        ("", "no reason given"),
    ],
)
def test_what_ssh_and_sudo_say_becomes_what_to_do(said: str, told: str) -> None:
    assert told in reason(Event("gpu01", "observe", Kind.UNREACHABLE, {"msg": said}))
