"""`dsv4deploy kernels`: install, prove and undo by hand, as text and as JSON, with the exit codes of the house."""

import json
import shutil
from pathlib import Path

import pytest
import toys
from house import looked

from dsv4deploy.cli.app import run


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    return toys.venv(tmp_path / "venv", toys.wheel(tmp_path))


@pytest.fixture
def bundle(engine: Path, tmp_path: Path) -> Path:
    toys.overlay(tmp_path)
    return toys.bundle(tmp_path, engine, "mma")[0]


def test_by_hand_from_render_to_revert(bundle: Path, engine: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = toys.fingerprint(engine)
    assert run(["kernels", "status", str(bundle)]) == 1
    assert "mma  not installed" in capsys.readouterr().out
    assert run(["kernels", "install", str(bundle)]) == 0
    assert "4 files linked" in capsys.readouterr().out
    assert run(["kernels", "install", str(bundle)]) == 0
    assert "No changes." in capsys.readouterr().out
    assert run(["kernels", "verify", str(bundle)]) == 0
    out = capsys.readouterr().out
    assert "mma  patched  1 files" in out
    assert "pristine" in out
    assert f"mma  proved: sglang.attention comes from {bundle}/shadow/sglang/attention.py" in out
    assert run(["kernels", "revert", str(bundle)]) == 0
    assert "reverted" in capsys.readouterr().out
    assert toys.fingerprint(engine) == before


def test_json_is_one_document_with_a_schema(bundle: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["kernels", "install", str(bundle), "--format", "json"])
    assert json.loads(capsys.readouterr().out)["schema"] == "kernels/1"
    run(["kernels", "status", str(bundle), "--format", "json"])
    answer = json.loads(capsys.readouterr().out)
    assert (answer["schema"], answer["fine"], answer["patches"][0]["state"]) == ("kernels/1", True, "patched")


def test_another_venv_may_be_meant(bundle: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(tmp_path / "venv", tmp_path / "other", symlinks=True)
    assert run(["kernels", "install", str(bundle), "--venv", str(tmp_path / "other")]) == 0
    capsys.readouterr()
    assert run(["kernels", "status", str(bundle), "--venv", str(tmp_path / "other")]) == 0
    assert str(tmp_path / "other") in capsys.readouterr().out


def test_a_venv_that_was_patched_in_place_is_told_and_reverted(
    engine: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, engine, "mma", more="  in_place: true\n")
    assert run(["kernels", "status", "--venv", str(engine)]) == 0
    assert "nothing is patched in place" in capsys.readouterr().out
    run(["kernels", "install", str(bundle)])
    run(["kernels", "status", "--venv", str(engine)])
    assert "patched in place for toy" in capsys.readouterr().out
    assert run(["kernels", "revert", "--venv", str(engine)]) == 0
    assert "reverted" in capsys.readouterr().out


def test_what_does_not_fit_exits_one_and_says_why(
    bundle: Path, engine: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.rmtree(toys.site(engine) / "sglang")
    assert run(["kernels", "install", str(bundle)]) == 1
    assert "finds no package sglang" in capsys.readouterr().err


@pytest.mark.parametrize("words", [["status"], ["revert"], ["install"], ["verify", "/nowhere"]])
def test_what_is_meant_must_be_said(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["kernels", *words]) == 2
    assert "remedy" in capsys.readouterr().err


COMBINATION = """\
summary: two kernels that meet in one attention
severity: crash
when:
  - {patch: mma, set: true}
  - {patched: sglang/configs, set: true}
at: patch:mma
related: [patched:sglang/configs]
names: [patch:mma, patched:sglang/configs]
why: The table was measured with the other kernel.
remedy: Remove one of the two.
mechanism: Their block sizes differ.
evidence:
  - {grade: reported, ref: "https://example.invalid/1", saw: it broke}
examples:
  bad: {patches: {mma: [sglang/attention.py], tables: [sglang/configs/e8.json]}}
  good:
    - patches: {mma: null}
    - patches: {tables: [sglang/other.py]}
"""


def test_a_combination_of_patches_is_refused_by_a_rule_of_the_team(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/two-kernels.yaml").write_text(COMBINATION)
    assert run(["rules", "test", str(tmp_path / "rules")]) == 0, capsys.readouterr().out
    toys.overlay(tmp_path)
    toys.tuning(tmp_path)
    assert run(["kernels", "list", str(toys.profile(tmp_path, Path("/opt/venv"), "mma"))]) == 0
    capsys.readouterr()
    assert run(["validate", str(toys.profile(tmp_path, Path("/opt/venv"), "tables", "mma")), "--format", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    (found,) = [one for one in answer["diagnostics"] if one["rule"] == "two-kernels"]
    assert found["names"] == ["mma", "tables"]
    assert (found["place"]["line"], found["place"]["column"]) == (7, 21)
    assert [(one["place"]["line"], one["place"]["column"]) for one in found["related"]] == [(7, 13)]


@pytest.mark.parametrize(("condition", "speaks"), [("is: overlay", True), ("is: wheel", False), ("is: DIGEST", True)])
def test_a_rule_may_ask_for_the_kind_of_a_patch_or_for_its_very_bytes(
    condition: str, speaks: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    toys.overlay(tmp_path)
    profile = toys.profile(tmp_path, Path("/opt/venv"), "mma")
    condition = condition.replace("DIGEST", looked(profile).patches[0].digest)
    text = COMBINATION.replace("{patch: mma, set: true}", f"{{patch: mma, {condition}}}")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/one.yaml").write_text(text.replace("  - {patched: sglang/configs, set: true}\n", ""))
    run(["validate", str(profile), "--format", "json"])
    assert ("one" in [one["rule"] for one in json.loads(capsys.readouterr().out)["diagnostics"]]) is speaks


def test_list_shows_what_a_profile_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = "drop_when: {versions: '>=9', because: it will be merged}\nneeded_for: speed\n"
    toys.overlay(tmp_path, more=more)
    assert run(["kernels", "list", str(toys.profile(tmp_path, Path("/opt/venv"), "mma"))]) == 0
    out = capsys.readouterr().out
    for word in (
        "mma  overlay",
        "fits      sglang ==0.5.23",
        "toggle    TOY_MMA",
        "drop when sglang >=9",
        "needed    speed",
    ):
        assert word in out
    assert run(["kernels", "list", str(toys.profile(tmp_path, Path("/opt/venv"), "nowhere"))]) == 1
    assert "patch-missing" in capsys.readouterr().out
