"""The failure scripts: known classes and stages, and recorded lines that stand so in the recorded logs."""

import re
from pathlib import Path

import pytest
import yaml

from dsv4deploy.rehearsal.failure import Failure, failures

SAMPLES = Path(__file__).parents[2] / "samples"
CLASSES = yaml.safe_load((SAMPLES / "classes.yaml").read_text(encoding="utf-8")).keys()
RECORDED = [failure for failure in failures() if failure.text and failure.log]
# A traceback and one class for a GPU, a Python and a launch rule at each stage is the least that a judge must meet.
STAGES = ("args", "init", "load", "pool", "capture", "warmup", "serve")


def flat(text: str) -> list[str]:
    """Lines without times, ranks, pids and the place of the installation."""
    text = re.sub(r"/opt/venv/lib/python3\.\d+/site-packages", "<site>", text)
    text = re.sub(r"(?m)^.*?(?:\[[\d -]{11}[\d:]{8}[ \w]*\]|<now>) ", "", text)
    text = re.sub(r"pid=(?:\d+|<pid>)", "pid=", text)
    text = re.sub(r"<context_length>", "100000000", text)
    return [line.rstrip() for line in text.replace("<derived>", "2048").split("\n") if line.strip()]


@pytest.mark.parametrize("failure", failures(), ids=lambda failure: failure.name)
def test_a_script_is_of_a_known_class_stage_and_end(failure: Failure) -> None:
    assert failure.triage is None or failure.triage in CLASSES
    assert failure.stage in STAGES
    assert re.fullmatch(r"sigquit|exit|hang|signal (?:6|9|11)", failure.end)
    assert failure.by == "leader" or failure.stage != "args"


def test_every_stage_can_fail() -> None:
    assert {failure.stage for failure in failures()} == set(STAGES)


def test_one_class_and_stage_has_one_cited_script() -> None:
    cited = [(failure.triage, failure.stage, failure.text) for failure in failures() if failure.kind == "cited"]
    assert len(cited) == len(set(cited))


@pytest.mark.parametrize("failure", RECORDED, ids=lambda failure: failure.name)
def test_recorded_lines_stand_so_in_the_log(failure: Failure) -> None:
    log = flat((SAMPLES / str(failure.log)).read_text(encoding="utf-8", errors="replace"))
    lines = flat(failure.text)
    start = log.index(lines[0])
    assert log[start : start + len(lines)] == lines
