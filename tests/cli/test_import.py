"""`dsv4deploy import` writes a profile and lists what it could not carry over."""

import json
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

SCRIPT = """\
#!/bin/bash
set -euo pipefail
mkdir -p logs
source ./nccl.env
export SGLANG_SM120_MMA_FLASHMLA=1
TP=${TP:-4}
nohup numactl --cpunodebind=0 /opt/sglang/venv/bin/python -m sglang.launch_server \\
  --model-path /models/DeepSeek-V4 --tp $TP \\
  --disable-custom-all-reduce --json-model-override-args '{"a": 1}' \\
  --gpu-memory-utilization 0.9 --api-key sesame --nccl-port $PORT > logs/server.log 2>&1 &
"""
PROFILE = """\
# Imported from {file}.

name: deepseek-v4
engine:
  version: 0.5.21
  venv: /opt/sglang/venv  # line 7
model:
  path: /models/DeepSeek-V4  # line 8
parallel:
  tp: 4  # line 6, unless the caller sets it otherwise
kernels:
  custom_all_reduce: false  # line 9
nccl:
  p2p_level: SYS  # {folder}/nccl.env:1
  env:
    NCCL_NEW_ONE: "off"  # {folder}/nccl.env:2
env:
  SGLANG_SM120_MMA_FLASHMLA: "1"  # line 5
args:
  json-model-override-args: "{{\\"a\\": 1}}"  # line 9
  gpu-memory-utilization: "0.9"  # line 10
service:
  launcher: [numactl, "--cpunodebind=0"]  # line 7

# Not carried over from {file}; look at each:
#   {file}:3:1  mkdir -p logs: what `mkdir` does to the launch is not known
#   {file}:10:42  --api-key <hidden>: a secret: write it to a file of mode 0600 on the node and name that as server.api_key_file
#   {file}:10:61  $PORT: --nccl-port: not known here, needs PORT
#   {file}:10:67  > logs/server.log: the service keeps the output: service.log says where
#   {file}:10:85  2>&1: the service keeps the output: service.log says where
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "nccl.env").write_text("export NCCL_P2P_LEVEL=SYS\nexport NCCL_NEW_ONE=off\n")
    path = tmp_path / "launch.sh"
    path.write_text(SCRIPT)
    return path


def test_a_script_becomes_a_profile_with_its_places(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(file), "--engine", "0.5.21"]) == 0
    assert capsys.readouterr().out == PROFILE.format(file=file, folder=file.parent)


def test_what_is_written_can_be_validated(file: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "profile.yaml"
    assert run(["import", str(file), "--engine", "0.5.21", "-o", str(output)]) == 0
    assert capsys.readouterr().out == f"{output}: 12 values, 5 not carried over (listed at its end)\n"
    assert run(["validate", str(output), "--format", "json"]) == 1
    found = json.loads(capsys.readouterr().out)["diagnostics"]
    told = {one["rule"]: one["names"] for one in found if one["level"] == "error"}
    assert told == {"foreign-flag": ["--gpu-memory-utilization"], "toggle-not-read": ["SGLANG_SM120_MMA_FLASHMLA"]}
    assert sum("SGLANG_SM120_MMA_FLASHMLA" in one["message"] for one in found) == 1
    assert run(["import", str(file), "--engine", "0.5.21", "-o", str(output)]) == 2
    assert "exists" in capsys.readouterr().err


def test_the_caller_can_be_played(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(file), "--engine", "0.5.21", "--env", "TP=8", "--env", "PORT=9", "--name", "x"]) == 0
    out = capsys.readouterr().out
    assert "name: x\n" in out
    assert "tp: 8  # --env TP=8:1\n" in out
    assert "nccl-port: 9" in out
    assert "PORT:" not in out


def test_a_file_that_does_not_name_its_engine_asks_for_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(file)]) == 2
    assert "--engine VERSION" in capsys.readouterr().err
    assert run(["import", str(file), "--engine", "9.9.9"]) == 2
    assert "nearest" in capsys.readouterr().err


def test_the_tag_of_an_image_names_the_engine(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "run.sh"
    path.write_text("docker run --gpus '\"device=0,1\"' --shm-size 16G lmsysorg/sglang:v0.5.17-cu129 sglang serve /m\n")
    assert run(["import", str(path)]) == 0
    out = capsys.readouterr().out
    assert "version: 0.5.17\n" in out
    assert "devices: [0, 1]" in out
    assert "entry: serve" in out


def test_an_image_by_its_tag_is_imported_with_how_to_find_its_digest(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "run.sh"
    path.write_text("docker run lmsysorg/sglang:v0.5.17-cu129 sglang serve --model-path /m\n")
    assert run(["import", str(path)]) == 0
    out = capsys.readouterr().out
    assert "# To fill in: engine.container.image, its digest: " in out
    assert "docker inspect --format '{{index .RepoDigests 0}}' lmsysorg/sglang:v0.5.17-cu129" in out
    assert "tag v0.5.17-cu129\n" in out
    (tmp_path / "profile.yaml").write_text(out)
    assert run(["validate", str(tmp_path / "profile.yaml")]) == 1
    assert "imagetools inspect lmsysorg/sglang:v0.5.17-cu129" in capsys.readouterr().out


def test_what_docker_would_refuse_or_a_rendered_container_has_anyway_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "nccl.env").write_text("export NCCL_P2P_LEVEL=SYS\nNCCL_DEBUG=INFO\n")
    path = tmp_path / "run.sh"
    path.write_text(
        f"docker run -p 8000:30000 --restart always --env-file {tmp_path}/nccl.env lmsysorg/sglang:v0.5.17 sglang serve\n"
    )
    assert run(["import", str(path)]) == 0
    out = capsys.readouterr().out
    assert "debug: INFO" in out
    assert "export NCCL_P2P_LEVEL=SYS: no name that a variable can have" in out
    assert "--publish 8000:30000: a rendered container shares the node's network" in out
    assert "--restart always: service.restart says" in out


def test_as_json_every_word_is_told_and_keys_are_not(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["import", str(file), "--format", "json"]) == 0
    out = capsys.readouterr().out
    told = json.loads(out)
    (command,) = told["commands"]
    assert told["schema"] == "imported/1"
    assert {"text": "4", "place": f"{file}:6:10", "sure": "default", "needs": []} in command["argv"]
    assert command["prefixes"] == [["nohup"], ["numactl", "--cpunodebind=0"]]
    assert [left["text"] for left in told["not_understood"]] == ["mkdir -p logs"]
    assert "sesame" not in out


def test_nothing_that_starts_a_server_is_said_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.sh"
    path.write_text("./elsewhere\n")
    assert run(["import", str(path)]) == 3
    assert "starts no SGLang server" in capsys.readouterr().err


def test_validate_tells_what_of_a_script_does_not_arrive(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file.write_text("NCCL_DEBUG=INFO\n./prepare\npython -m sglang.launch_server --model-path $MODEL\n")
    assert run(["validate", "--script", str(file), "--format", "json"]) == 0
    told = {one["rule"]: one for one in json.loads(capsys.readouterr().out)["diagnostics"]}
    assert told["variable-does-not-arrive"]["names"] == ["NCCL_DEBUG"]
    assert told["variable-does-not-arrive"]["level"] == "warning"
    assert {"not-understood", "unknown-word"} <= told.keys()
    assert run(["validate", "--script", str(file), "--env", "MODEL=/m", "--format", "json"]) == 0
    assert "unknown-word" not in capsys.readouterr().out


def test_a_text_that_cannot_be_loaded_is_refused_in_place(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"argv": [')
    assert run(["import", str(path)]) == 1
    assert f"{path}:1" in capsys.readouterr().out


@pytest.mark.parametrize("form", ["text", "json"])
@pytest.mark.parametrize(
    "given",
    [
        "docker run -e HF_TOKEN={} img:v0.5.21 python3 -m sglang.launch_server --model-path /m",
        "export AWS_SECRET_ACCESS_KEY={}\npython -m sglang.launch_server --model-path /m",
        "[ -f x ] && export HF_TOKEN={}\npython -m sglang.launch_server --model-path /m",
        "python -m sglang.launch_server --model-path /m --api-key={}",
        "python -m sglang.launch_server --model-path /m --admin-api {}",
        "python -m sglang.launch_server --model-path /m --api_key {}",
    ],
)
def test_no_secret_of_a_launch_file_is_passed_on(
    given: str, form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "launch.sh"
    path.write_text(given.format("hf_sesame0123456789"))
    assert run(["import", str(path), "--engine", "0.5.21", "--format", form]) == 0
    assert "sesame" not in capsys.readouterr().out


def test_a_flag_that_this_release_lost_keeps_its_value(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "launch.sh"
    path.write_text("python -m sglang.launch_server --model-path /m --cuda-graph-max-bs 32 --disaggregation-b=nixl\n")
    assert run(["import", str(path), "--engine", "0.5.21"]) == 0
    assert '  cuda-graph-max-bs: "32"' in capsys.readouterr().out


def test_of_a_variable_that_nobody_reads_it_is_said_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "launch.sh"
    path.write_text("export SGLANG_SM120_MMA_FLASHMLA=1\npython -m sglang.launch_server --model-path /m\n")
    run(["validate", "--script", str(path), "--format", "json"])
    told = json.loads(capsys.readouterr().out)["diagnostics"]
    assert [one["rule"] for one in told if "SGLANG_SM120_MMA_FLASHMLA" in str(one)] == ["toggle-of-a-patch"]


@pytest.mark.parametrize(
    ("output", "code", "told"), [("nowhere/p.yaml", 3, "cannot be written"), ("launch.sh", 2, "exists")]
)
def test_where_a_profile_cannot_be_written_that_is_said(
    output: str, code: int, told: str, file: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["import", str(file), "--engine", "0.5.21", "-o", str(file.parent / output)]) == code
    assert told in capsys.readouterr().err


def test_the_engine_of_a_script_can_be_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "x.sh"
    path.write_text("python -m sglang.launch_server --model-path /m --cuda-graph-max-bs-decode 8\n")
    assert run(["validate", "--script", str(path), "--engine", "0.5.23"]) == 0
    assert "SGLang 0.5.23, " in capsys.readouterr().out
    assert run(["validate", "--script", str(path), "--engine", "0.5.10"]) == 1
    assert "0.5.10" in capsys.readouterr().out
    assert run(["validate", "--script", str(path), "--engine", "9.9.9"]) == 2
    assert "--engine 0.5" in capsys.readouterr().err
    assert run(["validate", str(path), "--engine", "0.5.23"]) == 2
    assert "--set engine.version" in capsys.readouterr().err


def test_a_profile_is_not_imported_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "profile.yaml"
    path.write_text("name: x\nengine: {version: 0.5.23, venv: /v}\nmodel: {path: /m}\n")
    assert run(["import", str(path)]) == 3
    assert f"is a profile already\n  = remedy: dsv4deploy validate {path}" in capsys.readouterr().err
