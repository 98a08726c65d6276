"""`dsv4deploy effective` shows what takes effect, and where the memory of a rank goes."""

import json
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run
from tests.folders import config, safetensors

PROFILE = """\
name: small
engine: {version: 0.5.21, venv: /opt/venv}
model: {path: %s, served_name: small}
hardware: {arch: sm_120, memory_mib: 97887, count: 1}
memory: {fraction_static: %s}
server: {port: 30000}
health: {longest_prompt: 1000, concurrency: 2}
"""
LLAMA = {
    "model_type": "llama",
    "architectures": ["LlamaForCausalLM"],
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 64,
    "hidden_size": 256,
    "max_position_embeddings": 4096,
}


@pytest.fixture
def profile(tmp_path: Path) -> Path:
    model = tmp_path / "model"
    model.mkdir()
    (model / "config.json").write_bytes(config(**LLAMA))
    # A file of 40 GiB that takes no room: only its header is ever read.
    size = 40 << 30
    with (model / "model.safetensors").open("wb") as file:
        header = safetensors({"lm_head.weight": ("BF16", [size // 512, 256], 0)})
        text = header[8:].replace(b"[0, 0]", f"[0, {size}]".encode())
        file.write(len(text).to_bytes(8, "little") + text)
        file.truncate(8 + len(text) + size)
    path = tmp_path / "profile.yaml"
    path.write_text(PROFILE % (model, "0.9"), encoding="utf-8")
    return path


def test_settings_are_shown_as_written_and_as_they_end_up(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["effective", str(profile)]) == 0
    line = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("mem_fraction_static"))
    assert line.split()[1:3] == ["0.9", "0.9"]


def test_settings_as_json(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["effective", str(profile), "--format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["schema"] == "effective/1"
    assert tree["settings"]["mem_fraction_static"]["value"] == 0.9


def test_the_account_reads_the_model_folder_of_the_profile(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["effective", str(profile), "--memory"]) == 0
    out = capsys.readouterr().out
    assert "safetensors headers" in out
    assert "note[memory]" in out


def test_the_account_as_json(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["effective", str(profile), "--memory", "--format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["schema"] == "memory/1"
    # 2 layers of 2 heads of 64 numbers, keys and values, in bf16.
    assert next(term["amount"]["likely"] for term in tree["terms"] if term["name"] == "cache per token") == 1024
    assert tree["needs"] == []


def test_what_cannot_fit_ends_in_one(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["effective", str(profile), "--memory", "--set", "memory.fraction_static=0.2"]) == 1
    out = capsys.readouterr().out
    assert "error[weights-do-not-fit]" in out
    assert "the command line" in out


def test_facts_from_a_file_carry_the_model_to_another_machine(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["facts", str(tmp_path / "model")]) == 0
    facts = tmp_path / "facts.yaml"
    facts.write_text(capsys.readouterr().out, encoding="utf-8")
    (tmp_path / "model").rename(tmp_path / "elsewhere")
    assert run(["effective", str(profile), "--memory", "--facts", str(facts)]) == 0
    assert "safetensors headers" in capsys.readouterr().out


def test_validate_warns_of_memory_that_the_account_finds_and_a_waiver_allows_it(
    profile: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    many = ["validate", str(profile), "--set", "health.concurrency=1000000", "--format", "json"]
    run(many)
    told = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [one["level"] for one in told if one["rule"] == "memory-workload-exceeds-pool"] == ["warning"]
    run([*many, "--waive", "memory-workload-exceeds-pool=they queue"])
    waived = json.loads(capsys.readouterr().out)["waived"]
    assert [one["rule"] for one in waived] == ["memory-workload-exceeds-pool"]


def test_weights_that_do_not_fit_are_told_once(profile: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["validate", str(profile), "--set", "memory.fraction_static=0.2", "--format", "json"]) == 1
    told = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [one["rule"] for one in told].count("weights-do-not-fit") == 1


def test_the_log_of_a_first_start_replaces_estimates(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "server.log"
    log.write_text(
        "[2026-11-29 16:56:13] Load weight begin. avail mem=94.00 GB\n"
        "[2026-11-29 16:58:13] Load weight end. elapsed=1 s, type=LlamaForCausalLM, avail mem=53 GB, mem usage=41.00 GB.\n",
        encoding="utf-8",
    )
    assert run(["effective", str(profile), "--memory", "--log", str(log), "--format", "json"]) == 0
    tree = json.loads(capsys.readouterr().out)
    assert tree["tokens"] == dict.fromkeys(("low", "likely", "high"), int((94 * 0.9 - 41) * 2**30 / 1024))


def test_a_fact_that_nobody_asks_for_is_told_and_ignored(
    profile: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    facts = tmp_path / "facts.yaml"
    facts.write_text("gpu_cuont: 8\n", encoding="utf-8")
    assert run(["validate", str(profile), "--facts", str(facts), "--format", "json"]) == 0
    (note,) = [one for one in json.loads(capsys.readouterr().out)["diagnostics"] if one["rule"] == "fact-unknown"]
    assert (note["level"], note["place"]["line"]) == ("note", 1)
    assert "gpu_count" in note["remedy"]
