"""What a public fork has, written for that fork, for a release, and for a build whose own flags are at hand."""

import json
import zipfile
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

SERVER = "class ServerArgs:\n def add_cli_args(parser):\n  parser.add_argument('--tp-size', type=int)\n def from_cli_args(c, a): pass\n"
PROFILE = """\
name: tiny
engine: {{version: 0.5.21, venv: /v{more}}}
model: {{path: /m}}
args: {{enable-pcie-oneshot-allreduce: true}}
"""


def level(folder: Path, capsys: pytest.CaptureFixture[str], more: str = "") -> str:
    """How much is made of the fork's flag."""
    (folder / "profile.yaml").write_text(PROFILE.format(more=more), encoding="utf-8")
    run(["validate", str(folder / "profile.yaml"), "--format", "json"])
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    [told] = (one for one in found if one["names"] == ["--enable-pcie-oneshot-allreduce"])
    return str(told["level"])


def test_the_flag_of_a_public_fork_is_worth_a_note_on_a_build_of_unknown_flags(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert level(tmp_path, capsys, ", build: ours") == "note"


def test_it_is_an_error_on_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert level(tmp_path, capsys) == "error"


def test_it_is_an_error_on_a_build_that_is_known_not_to_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    wheel = tmp_path / "sglang-0.5.21-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("sglang/srt/server_args.py", SERVER)
        archive.writestr("sglang/srt/environ.py", "class Envs:\n X = EnvBool(True)\n")
    assert run(["flags", "extract", str(wheel), "--as", "0.5.21+ours", "-o", str(tmp_path / "ours.json")]) == 0
    capsys.readouterr()
    assert level(tmp_path, capsys, ", build: ours, catalogue: ours.json") == "error"
