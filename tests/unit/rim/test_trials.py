"""Trials are numbered files that can be read back, and a draft counts for nothing until a person moves it."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from dsv4deploy.model.experiment import Trial
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim import trials

ONE = Trial("x", "off", "k", "ready", "gpu01", "2026-11-29T10:00:00Z", 61.5, "serve", "The server is fired up")


def test_trials_come_back_in_order_and_only_those_of_the_experiment(tmp_path: Path) -> None:
    trials.keep(tmp_path, ONE, {})
    trials.keep(tmp_path, replace(ONE, experiment="y"), {})
    last = trials.keep(tmp_path, replace(ONE, arm="on", outcome="oom-load"), {"lines": ["a", "ü: b"]})
    assert trials.kept(tmp_path, "x") == (replace(ONE, record=".dsv4deploy/trials/0001.yaml"), last)
    assert last.record == ".dsv4deploy/trials/0003.yaml"
    assert (tmp_path / ".dsv4deploy/.gitignore").read_text() == "*\n"


def test_runs_at_the_same_time_take_no_number_twice(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        kept = list(pool.map(lambda second: trials.keep(tmp_path, replace(ONE, seconds=second), {}), range(40)))
    assert len({one.record for one in kept}) == 40
    assert {one.seconds for one in trials.kept(tmp_path, "x")} == set(range(40))


def test_what_the_judge_said_comes_back_with_a_trial(tmp_path: Path) -> None:
    said = {"state": "failed", "class": "oom-load"}
    one = trials.keep(tmp_path, ONE, {"answer": said, "lines": ["a"]})
    assert trials.answer(tmp_path, one) == {**said, "stage": ONE.stage, "root": ONE.root, "lines": ["a"]}


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    trials.keep(tmp_path, ONE, {})
    (tmp_path / ".dsv4deploy/trials/0002.yaml").write_text("trial: [")
    with pytest.raises(Trouble, match=r"0002\.yaml is no trial"):
        trials.kept(tmp_path, "x")


def test_a_draft_begins_with_what_it_is(tmp_path: Path) -> None:
    path = trials.draft(tmp_path, "x", {"summary": "s"}, ["A draft."])
    assert path.read_text() == "# A draft.\nsummary: s\n"
    assert not (tmp_path / "rules").exists()
