"""`dsv4deploy rehearse`: makes a folder, packs an archive, lists the failure scripts, and says what is wrong."""

import json
import subprocess
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run


def test_it_makes_a_folder_whose_python_runs_the_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "venv", str(tmp_path / "venv"), "--engine", "0.5.21"]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/venv/bin/python stands in for SGLang 0.5.21\n"
    helped = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-m", "sglang.launch_server", "--help"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert "--cuda-graph-max-bs-decode" in helped.stdout


def test_a_world_file_is_compiled_into_it(tmp_path: Path) -> None:
    world = tmp_path / "world.yaml"
    world.write_text("rules:\n- when: {tp_size: 2}\n  then: {fail: oom-kv}\n")
    assert run(["rehearse", "venv", str(tmp_path / "v"), "--engine", "0.5.21", "--world", str(world)]) == 0
    [record] = (tmp_path / "v").glob("lib/python*/site-packages/sglang/record.json")
    assert json.loads(record.read_text())["rules"][0] == {"when": {"tp_size": 2}, "then": {"fail": "oom-kv"}}


@pytest.mark.parametrize(
    ("world", "message"),
    [
        ("rules: [{then: {fail: nope}}]", "no failure script 'nope'"),
        ("rules: [", "line 1"),
        ("rules: [oom-kv]", "a rule of the world is"),
        ("- a list", "the world is not a mapping"),
    ],
)
def test_a_wrong_world_is_told_with_its_file(
    world: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "world.yaml"
    path.write_text(world)
    assert run(["rehearse", "venv", str(tmp_path / "v"), "--engine", "0.5.21", "--world", str(path)]) == 3
    told = capsys.readouterr().err
    assert str(path) in told
    assert message in told


def test_an_unknown_version_is_told_with_the_nearest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "venv", str(tmp_path / "v"), "--engine", "0.5.99"]) == 2
    assert "nearest: 0.5.23" in capsys.readouterr().err


def test_a_folder_of_somebody_else_is_left_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "mine").write_text("")
    assert run(["rehearse", "venv", str(tmp_path), "--engine", "0.5.21"]) == 3
    assert "holds no rehearsal" in capsys.readouterr().err
    assert (tmp_path / "mine").exists()


def test_the_archive_needs_nothing_of_us(tmp_path: Path) -> None:
    assert run(["rehearse", "pack", str(tmp_path / "r.pyz"), "--engine", "0.5.17"]) == 0
    assert (tmp_path / "r.pyz").stat().st_size < 200_000


def test_the_failure_scripts_are_listed_with_their_origin(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rehearse", "list", "--format", "json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert listed["schema"] == "rehearsals/1"
    [one] = [each for each in listed["failures"] if each["name"] == "stream-capture-isolation"]
    assert (one["class"], one["stage"], one["kind"]) == ("stream-capture", "capture", "recorded")
    assert run(["rehearse", "list"]) == 0
    assert "stream-capture-isolation" in capsys.readouterr().out
