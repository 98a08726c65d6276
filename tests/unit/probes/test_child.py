"""Processes of a case end at their limit, say how they ended, and leave nothing behind."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Forked in a fresh Python, because that of the tests may have threads.
PROGRAM = """
import dataclasses, json, os, signal, subprocess, sys, time
from dsv4deploy.probes.case import UnknownError, WrongError
from dsv4deploy.probes.child import cause, left, together

def fine(tell): tell({"phase": "work"}); tell({"figures": {"a": 1}}); tell({"figures": {"b": 2}})
def wrong(tell): raise WrongError("5, not 4")
def unknown(tell): raise UnknownError("needs a card")
def fails(tell): raise ValueError("bad")
def wedged(tell): tell({"phase": "asleep"}); time.sleep(1000)
def dies(tell): os.kill(os.getpid(), signal.SIGKILL)
def leaves(tell): sys.exit(7)
def falls(tell): wire = open("LOG.wire", "w"); os.kill(os.getpid(), signal.SIGKILL)
def notices(tell): open("LOG.wire").read(); raise ConnectionError("the peer is gone")
def follows(tell): time.sleep(1); os.kill(os.getpid(), signal.SIGABRT)
def bears(tell): subprocess.Popen(["sleep", "1000"], start_new_session=True)

os.mkfifo("LOG.wire")
work = [globals()[name] for name in sys.argv[2:]]
began = time.monotonic()
told = together(work, float(sys.argv[1]), "LOG")
print(json.dumps({"told": [dataclasses.asdict(one) for one in told], "left": left(told, "LOG"),
                  "cause": told.index(cause(told)),
                  "seconds": time.monotonic() - began}))
"""


def run(folder: Path, limit_s: float, *work: str) -> dict[str, Any]:
    program = folder / "program.py"
    program.write_text(PROGRAM.replace("LOG", str(folder / "log")))
    done = subprocess.run(
        [sys.executable, program, str(limit_s), *work], capture_output=True, text=True, check=True, timeout=60
    )
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize(
    ("work", "outcome", "because"),
    [
        ("fine", "ok", ""),
        ("wrong", "wrong", "5, not 4"),
        ("unknown", "unknown", "needs a card"),
        ("fails", "failed", ""),
        ("dies", "died", "the process ended by signal 9"),
        ("leaves", "failed", ""),
    ],
)
def test_a_process_says_how_it_ended(tmp_path: Path, work: str, outcome: str, because: str) -> None:
    found = run(tmp_path, 30, work)
    assert [(one["outcome"], one["because"]) for one in found["told"]] == [(outcome, because)]
    assert found["left"] == []


def test_figures_add_up_and_the_last_phase_is_kept(tmp_path: Path) -> None:
    told = run(tmp_path, 30, "fine")["told"][0]
    assert (told["figures"], told["phase"]) == ({"a": 1, "b": 2}, "work")


def test_an_exception_comes_with_its_chain(tmp_path: Path) -> None:
    assert run(tmp_path, 30, "fails")["told"][0]["chain"][0]["message"] == "bad"


def test_a_wedged_process_ends_at_the_limit_and_its_phase_is_known(tmp_path: Path) -> None:
    found = run(tmp_path, 0.5, "fine", "wedged")
    assert [(one["outcome"], one["phase"]) for one in found["told"]] == [("ok", "work"), ("", "asleep")]
    assert found["left"] == []


def test_who_waits_for_a_failed_rank_is_ended_early(tmp_path: Path) -> None:
    found = run(tmp_path, 100, "wedged", "dies")
    assert [one["outcome"] for one in found["told"]] == ["", "died"]
    assert found["seconds"] < 50
    assert found["left"] == []


def test_what_left_the_group_is_ended_too(tmp_path: Path) -> None:
    assert run(tmp_path, 30, "bears")["left"] == []


@pytest.mark.parametrize(
    ("work", "cause"),
    [
        (("notices", "falls"), 1),
        (("falls", "notices"), 0),
        (("fails", "follows"), 0),
        (("follows", "fails"), 1),
        (("fine", "wedged"), 1),
        (("fine", "fine"), 0),
    ],
)
def test_the_cause_is_named_and_not_what_follows_from_it(tmp_path: Path, work: tuple[str, str], cause: int) -> None:
    assert run(tmp_path, 3, *work)["cause"] == cause
