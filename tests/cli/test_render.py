"""`render` writes, prints or compares, and says what stands in its way."""

import json
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

PROFILE = """\
name: tiny
engine: {version: 0.5.23, venv: /v}
model: {path: /m}
"""


@pytest.fixture
def profile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile.yaml").write_text(PROFILE, encoding="utf-8")
    return "profile.yaml"


def test_what_was_rendered_has_no_difference_until_the_profile_changes(
    profile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["render", profile]) == 0
    capsys.readouterr()
    assert run(["render", profile, "--diff", "rendered/tiny"]) == 0
    assert capsys.readouterr().out == "No changes.\n"
    assert run(["render", profile, "--set", "server.port=30001", "--diff", "rendered/tiny"]) == 0
    assert "+  --port 30001" in capsys.readouterr().out


@pytest.mark.parametrize("manifest", ["", "[]", "{}", '{"files": 1}', '{"files": [1]}', "\x00"])
def test_what_is_no_bundle_is_never_compared(profile: str, manifest: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("odd").mkdir()
    Path("odd/manifest.json").write_text(manifest, encoding="utf-8")
    assert run(["render", profile, "--diff", "odd"]) == 3
    assert capsys.readouterr().err.startswith("error: odd/manifest.json is no manifest of ours\n")


def test_a_folder_without_a_manifest_is_never_compared(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", profile, "--diff", "."]) == 3
    assert capsys.readouterr().err.startswith("error: . is no bundle of ours\n")


@pytest.mark.parametrize("named", ["none", "profile.yaml"])
def test_a_bundle_to_compare_with_must_be_there(profile: str, named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", profile, "--diff", named]) == 3
    assert capsys.readouterr().err.startswith(f"error: {named} cannot be read: ")


def test_a_folder_of_somebody_else_is_left_alone(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    Path("home").mkdir()
    Path("home/letter.txt").touch()
    assert run(["render", profile, "-o", "home"]) == 3
    assert "is no bundle of ours" in capsys.readouterr().err
    assert [path.name for path in Path("home").iterdir()] == ["letter.txt"]


def test_one_question_at_a_time(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", profile, "--stdout", "serve.sh", "--diff", "home"]) == 2
    assert "three different questions" in capsys.readouterr().err


def test_what_was_written_is_told_to_programs_too(profile: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["render", profile, "-o", "out", "--format", "json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["schema"], told["folder"]) == ("render/1", "out")
    assert {file.name for file in Path("out").iterdir()} == set(told["files"])
    assert run(["render", profile, "--set", "tp=4", "--format", "json"]) == 1
    assert json.loads(capsys.readouterr().out)["schema"] == "validate/1"
