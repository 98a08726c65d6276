"""What is compiled for a version: each stage once, in the words of its era, and every word with its origin."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from rehearsals import sources

from dsv4deploy.flags import history
from dsv4deploy.rehearsal import record as room
from dsv4deploy.rehearsal.failure import failures
from dsv4deploy.rehearsal.record import record

SAMPLES = Path(__file__).parents[2] / "samples"
LINES = yaml.safe_load((Path(room.__file__).parent / "lines.yaml").read_text(encoding="utf-8"))
RUNS = {
    "cpu-0.5.10": "cpu-logs/cpu-0.5.10.post1-stubk3.log",
    "cpu-0.5.12": "cpu-logs/cpu-0.5.12.post1-stubk3.log",
    "cpu-0.5.17": "cpu-logs/cpu-0.5.17.log",
    "cpu-0.5.23": "cpu-logs/cpu-ok-leader.log",
    "cpu-0.5.23-port": "cpu-logs/cpu-port-taken.log",
    "cpu-0.5.23-kill": "cpu-logs/cpu-kill-sched.log",
    "h200-0.5.17": "h200-logs/base.log",
    "h200-dsv4-0.5.17": "h200-logs/dsv4-base.log",
}
ENTRIES = [(part, entry) for part, entries in LINES["lines"].items() for entry in entries]
ONCE = (
    "server_args=",
    "Init (torch distributed|parallel) begin",
    "Load weight begin",
    "Load weight end",
    "Memory pool end",
    "Capture (cuda|target decode CUDA) graph begin",
    "Capture (cuda|target decode CUDA) graph end",
    "max_total_num_tokens=",
    "The server is fired up",
)


def as_regex(entry: dict[str, Any]) -> str:
    """The template with anything in the place of its values, and any number in the place of its numbers."""
    parts = re.split(r"\{\w+(?::[^}]*)?\}", entry["text"].replace("{{", "\0").replace("}}", "\1"))
    fixed = (re.escape(part.replace("\0", "{").replace("\1", "}")) for part in parts)
    return ".*".join(re.sub(r"\d+(?:\\\.\d+)?", r"[\\d.]+", part) for part in fixed)


@pytest.mark.parametrize(("part", "entry"), ENTRIES, ids=lambda value: value if isinstance(value, str) else "")
def test_every_line_has_an_origin_and_recorded_ones_stand_in_their_log(part: str, entry: dict[str, Any]) -> None:
    kind, _, where = entry["origin"].partition(" ")
    if kind == "read":
        assert where.endswith(".py")
        return
    assert kind == "recorded"
    log = (SAMPLES / RUNS[where]).read_text(encoding="utf-8", errors="replace")
    assert re.search(as_regex(entry), log), f"{part}: not in {RUNS[where]}"


@pytest.mark.parametrize("version", history().versions)
def test_each_version_says_each_stage_once(version: str) -> None:
    lines = [entry["text"] for entries in record(history().at(version))["lines"].values() for entry in entries]
    for stage in ONCE:
        assert len([line for line in lines if re.match(stage, line)]) == 1, stage


def test_only_known_traits_are_asked_for_and_all_are_made() -> None:
    asked = {trait.lstrip("!") for _, entry in ENTRIES for trait in entry.get("when", ())}
    made = set(re.findall(r'\("(\w+)", ', sources()["stack.py"])) | {"cuda", "cpu", "decode_graph", "prefill_graph"}
    assert asked <= LINES["traits"].keys() == made & LINES["traits"].keys()


@pytest.mark.parametrize(
    ("version", "words", "absent"),
    [
        ("0.5.13.post1", "Capture cuda graph begin. This can take", "target decode"),
        ("0.5.14", "num_tokens_per_bs=1", "Capture cuda graph begin"),
        ("0.5.20", "Init torch distributed begin.", "Init parallel begin."),
        ("0.5.21", "Init parallel begin.", "Init torch distributed begin."),
        ("0.5.22", "num_tokens_per_req=1, avail mem", "num_tokens_per_req=1, bs="),
    ],
)
def test_the_words_change_with_the_version(version: str, words: str, absent: str) -> None:
    lines = str(record(history().at(version))["lines"])
    assert words in lines
    assert absent not in lines


@pytest.mark.parametrize(
    ("world", "complaint"),
    [
        ({"card": 1}, "unknown key in the world: card"),
        ({"rules": [{"when": {"tpsize": 4}, "then": {"fail": "oom-kv"}}]}, "unknown in `when`: tpsize"),
        ({"rules": [{"when": {"is": "fast"}, "then": {"fail": "oom-kv"}}]}, "unknown trait: fast"),
        ({"rules": [{"then": {"fail": "oom"}}]}, "no failure script 'oom'"),
        ({"rules": [{"then": {"fails": "oom-kv"}}]}, "unknown in `then`: fails"),
        ({"rules": [{"then": {"delay": {"start": 1}}}]}, "unknown stage: start"),
    ],
)
def test_a_world_that_can_never_hold_is_refused(world: dict[str, Any], complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)):
        record(history().at("0.5.21"), world)


def test_a_world_is_laid_over_the_usual_one_and_its_rules_come_first() -> None:
    rule = {"when": {"tp_size": 4}, "then": {"fail": "oom-kv"}}
    made = record(history().at("0.5.21"), {"gpus": 2, "model": {"shards": 3}, "rules": [rule]})
    usual = record(history().at("0.5.21"))
    assert made["world"] == {**usual["world"], "gpus": 2, "model": {**usual["world"]["model"], "shards": 3}}
    assert made["rules"] == [rule, *usual["rules"]]


def test_every_rule_says_how_it_is_known() -> None:
    for rule in record(history().at("0.5.23"))["rules"]:
        assert rule["because"]


def test_a_failure_script_names_where_its_lines_come_from() -> None:
    for failure in failures():
        assert failure.kind == "recorded" or re.match(r"https://\S+|SGLang 0\.5\.\d+\S*, \S+\.py", failure.source)
        assert (failure.kind == "recorded") == (failure.log is not None)
