"""An installed engine is asked in a process of its own, and whatever is wrong with it is an answer."""

import time
from pathlib import Path

import pytest
from engines import engine_at, python_with

from dsv4deploy.model.engine_answer import EngineAnswer, EngineQuestion, Gpu
from dsv4deploy.rim.engine_python import ask

CARDS = Gpu("NVIDIA RTX PRO 6000", 12, 0, 97887, 4)
WORDS = ("--model-path", "/m", "--tp", "2")


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return engine_at(tmp_path_factory.mktemp("engine") / "venv")


def test_it_parses_and_says_values_by_its_own_field_names(engine: Path) -> None:
    answer = ask(engine, EngineQuestion(WORDS))
    assert answer.version == "0.5.23"
    assert answer.parsed is not None
    assert (answer.parsed["tp_size"], answer.parsed["page_size"]) == (2, None)
    assert (answer.resolved, answer.refused, answer.unable) == (None, "", "")


def test_it_resolves_as_if_it_stood_before_the_cards(engine: Path) -> None:
    answer = ask(engine, EngineQuestion(WORDS, {"SGLANG_MAX": "32"}, CARDS))
    assert answer.resolved is not None
    assert answer.resolved["page_size"] == 256
    assert answer.resolved["mem"] == 97887
    assert answer.resolved["cuda_graph_backend_decode"] == "full"
    assert answer.resolved["cuda_graph_max_bs_decode"] == 32


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        ((*WORDS, "--bogus"), "unrecognized arguments: --bogus"),
        ((*WORDS[:3], "two"), "invalid int value: 'two'"),
        (("--tp", "2"), "the following arguments are required: --model-path"),
        ((*WORDS[:3], "8"), "ValueError: more ranks than cards"),
    ],
)
def test_its_refusal_is_told_in_its_words(engine: Path, words: tuple[str, ...], complaint: str) -> None:
    assert complaint in ask(engine, EngineQuestion(words, gpu=CARDS)).refused


def test_what_keeps_it_from_resolving_is_no_refusal(engine: Path) -> None:
    answer = ask(engine, EngineQuestion((*WORDS, "--page-size", "13"), gpu=CARDS))
    assert answer.refused == ""
    assert answer.unresolved == "OSError: no such model folder"
    assert answer.parsed


@pytest.mark.parametrize(
    ("body", "told"),
    [
        ("import a_library_that_is_missing", "No module named 'a_library_that_is_missing'"),
        ("import os\nos._exit(7)", "code 7"),
        (
            "import sys\nsys.stderr.write('Fatal Python error: told\\n')\nimport os\nos.abort()",
            "Fatal Python error: told",
        ),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("class ServerArgs: pass", "add_cli_args"),
    ],
)
def test_a_broken_engine_is_told_in_one_line(tmp_path: Path, body: str, told: str) -> None:
    answer = ask(engine_at(tmp_path / "venv", server_args=body), EngineQuestion(WORDS))
    assert answer == EngineAnswer(unable=answer.unable)
    assert told in answer.unable
    assert "\n" not in answer.unable


def test_a_python_without_the_engine_and_no_python_at_all(tmp_path: Path) -> None:
    assert "No module named 'sglang'" in ask(python_with(tmp_path / "venv", {}), EngineQuestion(WORDS)).unable
    assert "No such file" in ask(tmp_path / "none", EngineQuestion(WORDS)).unable
    assert "Permission denied" in ask(tmp_path, EngineQuestion(WORDS)).unable


def test_one_that_never_answers_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    note = tmp_path / "pid"
    body = f"""\
import subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
open({str(note)!r}, "w").write(str(child.pid))
time.sleep(600)
"""
    answer = ask(engine_at(tmp_path / "venv", server_args=body), EngineQuestion(WORDS), patience_s=5)
    assert answer.unable == "no answer within 5 s"
    assert _is_gone(int(note.read_text()))


def test_neither_the_callers_folder_nor_its_variables_reach_the_engine(
    engine: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "sglang.py").write_text("raise RuntimeError('the wrong one')", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setenv("SGLANG_MAX", "999")
    answer = ask(engine, EngineQuestion(WORDS, gpu=CARDS))
    assert answer.resolved is not None
    assert answer.resolved["cuda_graph_max_bs_decode"] == 8


def _is_gone(pid: int) -> bool:
    for _ in range(100):
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False
