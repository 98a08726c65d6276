"""Trials are numbered files that can be read back, and a draft counts for nothing until a person moves it."""

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


def test_a_damaged_record_is_named(tmp_path: Path) -> None:
    trials.keep(tmp_path, ONE, {})
    (tmp_path / ".dsv4deploy/trials/0002.yaml").write_text("trial: [")
    with pytest.raises(Trouble, match=r"0002\.yaml is no trial"):
        trials.kept(tmp_path, "x")


def test_a_draft_begins_with_what_it_is(tmp_path: Path) -> None:
    path = trials.draft(tmp_path, "x", {"summary": "s"}, ["A draft."])
    assert path.read_text() == "# A draft.\nsummary: s\n"
    assert not (tmp_path / "rules").exists()
