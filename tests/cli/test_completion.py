"""The completion of bash, asked as bash asks it: its script sourced, the words of a half-typed line set."""

import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

PROFILE = """\
name: tiny
engine: {version: 0.5.23, venv: /v}
model: {path: /m}
variants: {long-context: {set: {memory.context_length: 1M}}, low-latency: {set: {}}}
"""
PROGRAM = """\
eval "$({tool} --show-completion bash)"
COMP_WORDS=({words})
COMP_CWORD=$(( ${{#COMP_WORDS[@]}} - 1 ))
_dsv4deploy_completion {tool}
printf '%s\\n' "${{COMPREPLY[@]}}"
"""


def offered(line: str, folder: Path) -> list[str]:
    """What bash offers for the last word of `line`."""
    program = PROGRAM.format(tool=Path(sys.executable).with_name("dsv4deploy"), words=shlex.join(line.split(" ")))
    # Without it the completion looks for the shell among its ancestors, and a test's is another one in every CI.
    environment = {**os.environ, "SHELL": "/bin/bash", "_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"}
    done = subprocess.run(
        ["bash", "-c", program], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    assert not done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("dsv4deploy re", ["rehearse", "render", "report", "restart"]),
        ("dsv4deploy validate p.yaml --fa", ["--facts"]),
        ("dsv4deploy validate p.yaml --format ", ["json", "text"]),
        ("dsv4deploy flags ex", ["extract"]),
        ("dsv4deploy explain torch-compile-o", ["torch-compile-over-nodes"]),
        ("dsv4deploy validate p.yaml --variant lo", ["long-context", "low-latency"]),
        ("dsv4deploy validate none.yaml --variant lo", []),
        ("dsv4deploy marks retire stre", ["stream-capture-flash-1"]),
        ("dsv4deploy apply --retry o", ["oom-flash-2"]),
        ("dsv4deploy health --only me", ["metrics"]),
        ("dsv4deploy probe kernel", ["kernel-image"]),
        ("dsv4deploy validate ", []),  # bash offers files itself
    ],
)
def test_bash_offers_what_may_stand_there(line: str, wanted: list[str], tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(PROFILE, encoding="utf-8")
    for mark in ("marks/stream-capture-flash-1.yaml", ".dsv4deploy/rehearsal-marks/oom-flash-2.yaml"):
        (tmp_path / mark).parent.mkdir(parents=True)
        (tmp_path / mark).touch()
    assert sorted(offered(line, tmp_path)) == wanted
