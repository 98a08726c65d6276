"""`validate --engine-python` asks an installed engine too, and answers without it if that one cannot be asked."""

import json
from pathlib import Path

import installed
import pytest
from engines import engine_at

from dsv4deploy.cli.app import run

PROFILE = """\
name: tiny
engine: {version: 0.5.23, venv: /v}
model: {path: /m, served_name: m}
hardware: {arch: sm_120, memory_mib: 97887, count: 4}
parallel: {tp: 2}
server: {port: 30000}
"""


@pytest.fixture
def profile(tmp_path: Path) -> str:
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE, encoding="utf-8")
    return str(path)


def told(capsys: pytest.CaptureFixture[str]) -> dict[str, dict[str, str]]:
    return {one["rule"]: one for one in json.loads(capsys.readouterr().out)["diagnostics"]}


def test_an_engine_that_refuses_what_we_find_fine_fails_the_check(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = str(engine_at(tmp_path / "venv"))
    assert run(["validate", profile, "--engine-python", python, "--format", "json"]) == 1
    # The stand-in knows few flags.
    assert "unrecognized arguments: --served-model-name" in told(capsys)["engine-refuses"]["message"]


@pytest.mark.parametrize(("strict", "code"), [([], 0), (["--strict"], 1)])
def test_without_an_answer_ours_stands_unless_it_must_be_sure(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], strict: list[str], code: int
) -> None:
    words = ["validate", profile, "--engine-python", str(tmp_path / "none"), "--format", "json", *strict]
    assert run(words) == code
    assert "No such file" in told(capsys)["engine-not-asked"]["message"]


def test_another_version_than_the_profiles_is_not_held_against_it(
    profile: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    python = str(engine_at(tmp_path / "venv", "0.5.20"))
    assert run(["validate", profile, "--engine-python", python, "--format", "json"]) == 0
    message = told(capsys)["engine-not-asked"]["message"]
    assert message == "the engine asked is SGLang 0.5.20; this launch is for 0.5.23"


@installed.needed
def test_a_real_engine_agrees(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The version in the profile is the one that is installed; a small Llama is a folder with a config."""
    python = installed.with_stand_ins(tmp_path / "python")
    config = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 256, "vocab_size": 320}
    layers = {"num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 512}
    (tmp_path / "config.json").write_text(json.dumps({**config, **layers}), encoding="utf-8")
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE.replace("/m,", f"{tmp_path},"), encoding="utf-8")
    assert run(["validate", str(path), "--engine-python", str(python), "--format", "json"]) == 0
    diagnostics = told(capsys)
    assert "engine-disagrees" not in diagnostics
    assert diagnostics["engine-agrees"]["message"].startswith("the installed SGLang 0.5.23")
