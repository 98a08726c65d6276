"""`dsv4deploy triage` says why a server failed, on a screen and as JSON."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from dsv4deploy.cli.app import run

SAMPLES = Path(__file__).parents[1] / "samples"
FAILED = SAMPLES / "h200-logs" / "bad-oom.log"


def test_a_failure_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["triage", str(FAILED)]) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == "failed in capture: oom-graph"
    assert told[1] == f"  --> {FAILED}:43"
    assert told[2].startswith("      torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 4096.00 GiB.")
    assert [line.split(":")[0] for line in told[3:]] == [
        "  = means",
        "  = change",
        "  = remedy",
        "  = rules",
        "  = refute",
    ]


def test_a_ready_server_on_the_screen(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["triage", str(SAMPLES / "h200-logs" / "base.log")]) == 0
    assert capsys.readouterr().out.splitlines()[0] == "ready at line 69, then stopped-by-us at line 86"


def test_what_is_not_recognised_shows_the_last_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    log.write_text("Received sigquit from a child process.\nKaboom 42\n")
    assert run(["triage", str(log)]) == 1
    told = capsys.readouterr().out
    assert "failed in args: not recognised" in told
    assert told.endswith("      Kaboom 42\n")


def test_json_from_a_file_and_from_standard_input_and_compressed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    answers = []
    (tmp_path / "server.log.gz").write_bytes(gzip.compress(FAILED.read_bytes()))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(FAILED.read_bytes())))
    for log in (str(FAILED), "-", str(tmp_path / "server.log.gz")):
        assert run(["triage", log, "--format", "json"]) == 1
        answers.append(json.loads(capsys.readouterr().out))
    assert answers[0] == answers[1] == answers[2]
    answer = answers[0]
    assert (answer["schema"], answer["class"], answer["stage"], answer["line"]) == (
        "triage/1",
        "oom-graph",
        "capture",
        43,
    )
    assert {"state", "root", "change", "remedy", "rules", "refute", "lines", "then", "ready_line"} <= set(answer)


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["triage"], 2, "give a LOG or --journal UNIT"),
        (["triage", "a.log", "--journal", "sglang"], 2, "give a LOG or --journal UNIT"),
        (["triage", "/nowhere/server.log"], 3, "there is no file /nowhere/server.log"),
    ],
)
def test_what_cannot_be_read(words: list[str], code: int, told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == code
    assert told in capsys.readouterr().err


def test_what_is_no_log_of_the_server_is_said_to_be_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "server.log"
    log.write_text("milk\nbread\n")
    assert run(["triage", str(log)]) == 0
    assert "no line of it is known to be SGLang's" in capsys.readouterr().out
    log.write_text("INFO 04-17 22:33:23 [utils.py:233] vLLM API server version 0.21.0\n")
    assert run(["triage", str(log)]) == 0
    assert "vLLM wrote this and not SGLang" in capsys.readouterr().out
    for nothing, told in ((b"", "is empty"), (b"\n\n", "is empty"), (bytes(range(256)), "it is no text")):
        log.write_bytes(nothing)
        assert run(["triage", str(log)]) == 3
        assert told in capsys.readouterr().err


def test_of_several_starts_the_screen_says_which_one_it_judges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "server.log"
    log.write_bytes((SAMPLES / "h200-logs" / "base.log").read_bytes() + FAILED.read_bytes())
    assert run(["triage", str(log)]) == 1
    assert "the log holds 2 starts; this is of the last one, from line" in capsys.readouterr().out
