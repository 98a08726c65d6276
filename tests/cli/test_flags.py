"""`dsv4deploy flags` shows what every release accepts."""

import json
import zipfile
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

SERVER = "class ServerArgs:\n def add_cli_args(parser):\n  parser.add_argument('--fork-only', type=int)\n def from_cli_args(c, a): pass\n"


def shown(capsys: pytest.CaptureFixture[str], *words: str, code: int = 0) -> str:
    assert run(["flags", *words]) == code
    return capsys.readouterr().out


def test_a_renamed_flag_shows_its_life(capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, "--cuda-graph-max-bs", "--engine", "0.5.13.post1") == (
        "--cuda-graph-max-bs\n"
        "  The largest decode batch for which a CUDA graph is captured.\n"
        "  in requests\n"
        "  only 0.5.6 to 0.5.19, deprecated from 0.5.14 on, now --cuda-graph-max-bs-decode\n"
        "  in SGLang 0.5.13.post1: int, one value, default None, at least 1\n"
    )


@pytest.mark.parametrize("name", ["tp_size", "tp-size", "--tp-size", "--tensor-parallel-size"])
def test_a_flag_is_found_by_any_of_its_names(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert shown(capsys, name).startswith("--tp-size\n")


def test_a_part_of_a_name_lists_what_has_it(capsys: pytest.CaptureFixture[str]) -> None:
    lines = shown(capsys, "sm120_").splitlines()
    assert [line.split()[0] for line in lines][:2] == [
        "SGLANG_DISABLE_SM120_FP8_GEMV",
        "SGLANG_OPT_SM120_DIRECT_SWA_KV",
    ]


def test_without_a_name_all_flags_of_the_newest_release_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert len(shown(capsys).splitlines()) == 531


def test_the_answer_for_programs_is_json(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(shown(capsys, "--attn-dp-size", "--engine", "0.5.21", "--format", "json"))
    assert (data["schema"], data["engine"]) == ("flags/1", "0.5.21")
    [flag] = data["flags"]
    assert (flag["known"], flag["since"], flag["renamed_from"]) == (False, "0.5.22", ["--enable-dp-attention"])


def test_a_name_that_nobody_has_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["flags", "--mem-fraction-statik"]) == 2
    assert "did you mean --mem-fraction-static" in capsys.readouterr().err


def test_the_flags_of_a_fork_are_read_and_shown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wheel, file = tmp_path / "sglang-0.5.21-py3-none-any.whl", tmp_path / "fork.json"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("sglang/srt/server_args.py", SERVER)
        archive.writestr("sglang/srt/environ.py", "class Envs:\n X = EnvBool(True)\n")
    said = shown(capsys, "extract", str(wheel), "--as", "0.5.21+fork", "-o", str(file))
    assert said == f"{file}: SGLang 0.5.21+fork (flags: 1, variables: 1)\n"
    assert "int, one value" in shown(capsys, "--fork-only", "--catalogue", str(file))
