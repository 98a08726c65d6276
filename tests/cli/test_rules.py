"""`dsv4deploy rules` and `explain` show what is known, and test what a team adds."""

import json
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

OWN = """\
summary: eight is too many
severity: crash
when:
  - {setting: tp_size, is: 8}
  - {setting: nnodes, is: 1}
at: setting:tp_size
why: It breaks.
remedy: Set parallel.tp to 4.
mechanism: Nobody knows.
evidence:
  - {grade: reported, ref: "https://example.invalid/1", saw: it broke}
examples:
  bad: {settings: {tp_size: 8}}
  good:
    - settings: {tp_size: 4}
    - settings: {nnodes: 2}
"""
PROFILE = """\
name: one
engine: {version: 0.5.21, venv: /opt/venv}
model: {path: /models/m, architecture: LlamaForCausalLM}
hardware: {arch: sm_120, gpu: RTX PRO 6000, memory_mib: 97887, count: 8}
parallel: {tp: 8}
"""


def shown(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(words) == code
    return capsys.readouterr().out


def test_rules_are_filtered_by_family_card_and_release(capsys: pytest.CaptureFixture[str]) -> None:
    everything = shown(capsys, "rules")
    compile_only = shown(capsys, "rules", "--family", "compile")
    assert "torch-compile-in-capture-dsv4" in compile_only
    assert "dsa-kernels-on-sm120" in everything
    assert "dsa-kernels-on-sm120" not in compile_only
    assert "dsa-kernels-on-sm120" not in shown(capsys, "rules", "--arch", "sm_90")
    assert "tc-piecewise-removed" not in shown(capsys, "rules", "--engine", "0.5.21")


def test_an_unknown_family_names_the_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["rules", "--family", "none"]) == 2
    assert "choose from allreduce, arch" in capsys.readouterr().err


def test_rules_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    tree = json.loads(shown(capsys, "rules", "--family", "compile", "--format", "json"))
    assert tree["schema"] == "rules/1"
    by_id = {rule["id"]: rule for rule in tree["rules"]}
    assert by_id["torch-compile-in-capture-dsv4"]["level"] == "error"


def test_coverage_counts(capsys: pytest.CaptureFixture[str]) -> None:
    assert "grade   enforced" in shown(capsys, "rules", "--coverage")


def test_explain_tells_a_rule_with_its_evidence(capsys: pytest.CaptureFixture[str]) -> None:
    page = shown(capsys, "explain", "torch-compile-in-capture-dsv4")
    assert page.startswith("error[torch-compile-in-capture-dsv4]: ")
    assert "- setting:enable_torch_compile is true" in page
    assert "reproduced (H200 (sm_90), SGLang 0.5.17, torch 2.11.0+cu130, 2026-11-29): 7 of 7" in page


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("yaml-syntax", "Tabs cannot indent"),
        ("cuda_graph.decode.max_bs", "largest captured batch"),
        ("--tp-size", "Over how many GPUs"),
        ("SGLANG_CACHE_DIR", "SGLANG_CACHE_DIR"),
    ],
)
def test_explain_knows_classes_keys_flags_and_variables(
    name: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in shown(capsys, "explain", name)


def test_explain_of_nothing_known_offers_what_is_near(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "torch-compile-in-capture"]) == 2
    assert "did you mean torch-compile-in-capture-dsv4" in capsys.readouterr().err


def test_a_teams_rules_are_tested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "tp-eight.yaml").write_text(OWN)
    assert shown(capsys, "rules", "test", str(tmp_path)) == "1 rules, 1 as their examples say\n"
    (tmp_path / "tp-eight.yaml").write_text(OWN.replace("    - settings: {nnodes: 2}\n", ""))
    assert "no example needs {'setting': 'nnodes', 'is': 1}" in shown(capsys, "rules", "test", str(tmp_path), code=1)
    (tmp_path / "tp-eight.yaml").write_text(OWN.replace("{tp_size: 8}}", "{tp_size: 6}}"))
    assert "the bad example is clear, not found" in shown(capsys, "rules", "test", str(tmp_path), code=1)


def test_a_teams_rules_beside_a_profile_speak(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/tp-eight.yaml").write_text(OWN)
    answer = json.loads(shown(capsys, "validate", str(tmp_path / "profile.yaml"), "--format", "json", code=1))
    (found,) = [one for one in answer["diagnostics"] if one["rule"] == "tp-eight"]
    assert (found["level"], found["place"]["line"]) == ("error", 5)


def test_what_a_teams_rule_refuses_is_applied_to_no_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "gpu.ini").write_text("gpu01 ansible_host=192.0.2.1\n")
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/tp-eight.yaml").write_text(OWN)
    assert "error[tp-eight]" in shown(capsys, "plan", "-i", "gpu.ini", code=1)


def test_a_teams_rule_sees_the_keys_of_the_profile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "rules").mkdir()
    of_name = OWN.replace("{setting: nnodes, is: 1}", "{profile: name, is: one}")
    for name, count in (("one", 1), ("two", 0)):
        (tmp_path / "rules/tp-eight.yaml").write_text(of_name.replace("is: one", f"is: {name}"))
        run(["validate", str(tmp_path / "profile.yaml"), "--format", "json"])
        answer = json.loads(capsys.readouterr().out)
        assert [one["rule"] for one in answer["diagnostics"]].count("tp-eight") == count


def test_a_teams_rule_that_does_not_load_stops_the_check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "profile.yaml").write_text(PROFILE)
    (tmp_path / "rules").mkdir()
    (tmp_path / "rules/tp-eight.yaml").write_text(OWN.replace("severity: crash\n", ""))
    assert run(["validate", str(tmp_path / "profile.yaml")]) == 1
    told = capsys.readouterr().out
    assert "the rule lacks severity" in told
    assert f"{tmp_path / 'rules/tp-eight.yaml'}:1:1" in told


def test_rules_are_listed_by_a_part_of_their_name_or_summary(capsys: pytest.CaptureFixture[str]) -> None:
    named = shown(capsys, "rules", "torch-compile-in-capture")
    assert named.splitlines()[-1] == "1 rules"
    assert "torch-compile-in-capture-dsv4" in named
    assert "0 rules" in shown(capsys, "rules", "no-such-thing-anywhere")


def test_a_flag_is_explained_by_the_abbreviation_that_the_engine_takes(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "explain", "--tp").startswith("--tp-size\n")


def test_what_many_names_contain_is_not_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", "hicache"]) == 2
    assert "dsv4deploy flags hicache" in capsys.readouterr().err
