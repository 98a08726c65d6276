"""Marks on the command line: what validate, render and `marks` say of them."""

import json
from pathlib import Path

import pytest

from dsv4deploy.cli import house
from dsv4deploy.cli.app import run
from dsv4deploy.flow import looked_at
from dsv4deploy.rim.marks import keep
from dsv4deploy.rim.texts import Files
from dsv4deploy.stages.marks import mark_of

PROFILE = """
name: flash
engine: {version: 0.5.23, venv: /opt/sglang}
model: {path: /models/tiny, facts: {model_type: llama}}
hardware: {arch: sm_120, devices: [0, 1]}
parallel: {tp: 2}
"""
FAILED = {"state": "failed", "class": "oom-graph", "stage": "capture", "root": "CUDA out of memory", "lines": ["last"]}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile.yaml").write_text(PROFILE)
    looked = looked_at(Files(), house.knowledge(), house.asked(Path("profile.yaml"), [], [], None, []))
    assert not looked.report.blocks
    keep(
        mark_of(looked.candidate, FAILED, looked.report, name="flash", node="gpu01", at="2026-11-29T15:20:11Z"),
        tmp_path,
    )
    return tmp_path


def test_validate_and_render_refuse_what_is_marked_and_cite_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["validate", "profile.yaml"]) == 1
    told = capsys.readouterr().out
    assert "error[mark:oom-graph-flash-" in told
    assert "CUDA out of memory" in told
    assert "dsv4deploy marks show oom-graph-flash-" in told
    assert run(["render", "profile.yaml"]) == 1
    assert not (project / "rendered").exists()
    assert run(["validate", "profile.yaml", "--set", "server.port=31000"]) == 1
    assert run(["validate", "profile.yaml", "--set", "memory.fraction_static=0.5"]) == 0


def test_marks_are_listed_shown_exported_and_retired(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["marks", "list"]) == 0
    assert "exactly this configuration" in capsys.readouterr().out
    assert run(["marks", "list", "--format", "json"]) == 0
    (one,) = json.loads(capsys.readouterr().out)["marks"]
    assert run(["marks", "show", "oom"]) == 0
    shown = capsys.readouterr().out
    assert "tp_size = 2" in shown
    assert "(left to the engine)" in shown
    assert "None" not in shown
    assert run(["explain", f"mark:{one['id']}"]) == 0
    assert capsys.readouterr().out == shown
    assert run(["marks", "export", one["id"]]) == 0
    assert capsys.readouterr().out == (project / f"marks/{one['id']}.yaml").read_text()
    assert run(["marks", "retire", "oom", "--because", "more memory now"]) == 0
    assert run(["validate", "profile.yaml"]) == 0
    capsys.readouterr()
    assert run(["marks", "retire", "oom", "--because", "another reason"]) == 2
    assert "counts no more since" in (told := capsys.readouterr().err)
    assert "more memory now" in told
    assert run(["marks", "show", "none-such"]) == 2
    assert run(["marks", "list", "--project", "no-such"]) == 2
    assert "there is no folder no-such" in capsys.readouterr().err
