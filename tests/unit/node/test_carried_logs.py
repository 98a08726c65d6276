"""What carried a log does not change what it says: prefixes, JSON, packing, rotation, an earlier start."""

import bz2
import gzip
import io
import json
import lzma
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from recorded import SIGNATURES, log

from dsv4deploy.node.triage import triage_file, triage_text

FAILED = log("h200-logs/bad-oom.log")
BARE = triage_text(FAILED, SIGNATURES)
CARRIERS: dict[str, Callable[[str], str]] = {
    "journalctl": lambda line: f"Nov 29 17:04:10 gpu01 serve.sh[4711]: {line}",
    "journalctl -o short-iso": lambda line: f"2026-11-29T17:04:10+0000 gpu01 serve.sh[4711]: {line}",
    "journalctl -o short-iso-precise": lambda line: f"2026-11-29T17:04:10.123456+01:00 gpu01 serve.sh[4711]: {line}",
    "journalctl -o short-full": lambda line: f"Sun 2026-11-29 17:04:10 UTC gpu01 serve.sh[4711]: {line}",
    "journalctl -o short-monotonic": lambda line: f"[  912.345678] gpu01 serve.sh[4711]: {line}",
    "journalctl -o json": lambda line: json.dumps({"PRIORITY": "6", "MESSAGE": line, "_PID": "4711"}),
    "docker json-file": lambda line: json.dumps({"log": f"{line}\n", "stream": "stderr", "time": "2026-11-29T17:04Z"}),
    "docker compose logs": lambda line: f"sglang-1  | {line}",
    "docker service logs": lambda line: f"flash_sglang.1.k2j3@gpu01    | {line}",
    "docker logs -t": lambda line: f"2026-11-29T17:04:10.123456789Z {line}",
    "kubectl logs --prefix": lambda line: f"[pod/flash-0/sglang] {line}",
    "kubectl logs --timestamps": lambda line: f"2026-11-29T17:04:10.123456789+01:00 {line}",
    "containerd": lambda line: f"2026-11-29T17:04:10.123456789Z stderr F {line}",
    "ray": lambda line: f"(SGLangEngine pid=12589, ip=10.0.0.3) {line}",
}
TOLD = ("state", "stage", "class", "root", "line", "rank", "signature")


@pytest.mark.parametrize("carrier", CARRIERS)
def test_a_log_is_judged_alike_whatever_carried_it(carrier: str) -> None:
    lines = FAILED.decode().replace("\r", "").split("\n")
    carried = "\n".join(CARRIERS[carrier](line) if line else line for line in lines)
    answer = triage_text(carried, SIGNATURES)
    assert {name: answer[name] for name in TOLD} == {name: BARE[name] for name in TOLD}


def test_the_last_lines_are_shown_without_the_json_around_them() -> None:
    answer = triage_text(json.dumps({"log": "Killed\n", "stream": "stderr"}), SIGNATURES)
    assert (answer["class"], answer["lines"]) == ("sigkill", ["Killed"])


@pytest.mark.parametrize("entry", ['{"log": 7}', '{"log"', '{"x": 1}', '{"' * 5000 + "}", '{"a":' * 50_000 + "}"])
def test_json_that_carries_no_line_is_a_line(entry: str) -> None:
    assert triage_text(f"{entry}\nKilled\n", SIGNATURES)["line"] == 2


@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
@pytest.mark.parametrize("piped", [False, True])
def test_a_packed_log_is_known_by_its_bytes(
    pack: Callable[[bytes], bytes], piped: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(pack(FAILED))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(pack(FAILED))))
    assert triage_file("-" if piped else str(path), SIGNATURES) == BARE


def test_what_is_no_text_is_refused_and_zeros_of_a_truncated_file_are_not_minded(tmp_path: Path) -> None:
    path = tmp_path / "server.log"
    path.write_bytes(bytes(range(256)) * 100)
    with pytest.raises(OSError, match="it is no text"):
        triage_file(str(path), SIGNATURES)
    path.write_bytes(b"\0" * 100_000 + b"\n" + FAILED)
    assert triage_file(str(path), SIGNATURES)["class"] == BARE["class"]


def test_a_packed_log_that_is_damaged_cannot_be_read(tmp_path: Path) -> None:
    path = tmp_path / "server.log.gz"
    path.write_bytes(gzip.compress(FAILED)[:20] + b"x" * 400)
    with pytest.raises((OSError, EOFError)):
        triage_file(str(path), SIGNATURES)


def test_of_two_starts_the_last_one_is_judged_and_the_earlier_is_counted() -> None:
    ready = log("h200-logs/base.log")
    answer = triage_text(ready + b"\n" + FAILED, SIGNATURES)
    assert (answer["state"], answer["class"], answer["starts"]) == ("failed", BARE["class"], 2)
    assert ready.count(b"\n") < answer["begins"] <= answer["line"]
    assert (BARE["starts"], BARE["begins"]) == (1, 1)


def test_a_log_of_another_engine_is_said_to_be_one() -> None:
    vllm = "(APIServer pid=1) INFO 04-17 22:33:23 [utils.py:233] vLLM API server version 0.21.0\n"
    died = "(EngineCore_DP0 pid=9) ERROR 04-17 22:33:29 [core.py:868] torch.OutOfMemoryError: CUDA out of memory.\n"
    answer = triage_text(vllm + died, SIGNATURES)
    assert (answer["other_engine"], answer["class"]) == ("vLLM", "oom-load")
    assert BARE["other_engine"] is None
