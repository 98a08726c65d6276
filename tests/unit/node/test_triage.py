"""Every recorded log of the real engine is judged as its answer key says, however it is fed and wherever it ends."""

import re
from typing import Any

import pytest
from recorded import KEY, SIGNATURES, log

from dsv4deploy.node.story import Story
from dsv4deploy.node.triage import told, triage_text

# Where the next stage begins, by the header of the answer key.
BEGINS = (
    ("init", re.compile(rb"\] server_args=")),
    ("load", re.compile(rb"Load weight begin")),
    ("pool", re.compile(rb"Load weight end")),
    ("capture", re.compile(rb"Capture (?:\w+ )*(?:cuda|CUDA) graph begin")),
    ("warmup", re.compile(rb"Started server process")),
)


def assert_as_the_key_says(answer: dict[str, Any], key: dict[str, Any]) -> None:
    also = key.get("also_ok", {})
    for field in ("state", "stage", "class", "line"):
        assert answer[field] in [key[field], *also.get(field, [])], field
    assert answer["line"] not in key.get("not_the_cause", [])
    assert answer["ready_line"] == key.get("ready_line")
    then = key.get("then") or {}
    assert (answer["then"] or {}).get("state") == then.get("state")
    assert (answer["then"] or {}).get("line") == then.get("line")


@pytest.mark.parametrize("name", KEY)
def test_a_recorded_log_fed_whole(name: str) -> None:
    answer = triage_text(log(name), SIGNATURES)
    assert_as_the_key_says(answer, KEY[name])
    if answer["line"] == KEY[name]["line"]:
        assert answer["root"].rstrip("…")[:60] in KEY[name]["root"]


@pytest.mark.parametrize("name", KEY)
def test_a_recorded_log_fed_line_by_line_is_never_judged_too_early(name: str) -> None:
    key, story = KEY[name], Story(SIGNATURES)
    for number, line in enumerate(log(name).split(b"\n"), 1):
        story.feed(line + b"\n")
        so_far = told(story)
        if number >= (key.get("ready_line") or key["line"]):
            continue
        if so_far["state"] != "progressing":
            assert (so_far["state"], key["state"]) == ("failed", "failed"), number
        if so_far["class"] is not None:
            assert (so_far["class"], so_far["line"] in key["also_ok"]["line"]) == (key["class"], True), number
    assert_as_the_key_says(told(story), key)


@pytest.mark.parametrize("name", KEY)
def test_a_recorded_log_cut_at_every_stage(name: str) -> None:
    lines = log(name).split(b"\n")
    stage = "args"
    for following, mark in BEGINS:
        at = next((n for n, line in enumerate(lines) if mark.search(line)), None)
        if at is None:
            continue
        answer = triage_text(b"\n".join(lines[:at]), SIGNATURES)
        assert (answer["state"], answer["stage"], answer["class"]) == ("progressing", stage, None), following
        stage = following


ONE_LINE = {
    "RuntimeError: Assertion error (/deepgemm/csrc/apis/attention.hpp:219): Unsupported architecture": "unsupported-arch",
    "Exception: Capture cuda graph failed: backend='inductor' raised: torch._dynamo.exc.BackendCompilerFailed": "compile-failed",
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity": "oom-load",
    "[rank0]:[E1129 ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: WorkNCCL(": "watchdog-hang",
    "launch_server.py: error: unrecognized arguments: --enable-expert-parallel": "unknown-flag",
    "NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.": "gpu-fault",
    "nvcc fatal   : Unsupported gpu architecture 'compute_120a'": "toolchain-too-old",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device": "no-kernel-image",
    "RuntimeError: Not enough memory. Please try to increase --mem-fraction-static.": "oom-kv",
    "[Errno 98] error while attempting to bind on address ('0.0.0.0', 30000): address already in use": "port-in-use",
}


@pytest.mark.parametrize("line", ONE_LINE)
def test_a_log_of_one_line_is_enough_and_names_what_to_change(line: str) -> None:
    answer = triage_text(line, SIGNATURES)
    assert (answer["class"], answer["state"], answer["line"]) == (ONE_LINE[line], "failed", 1)
    assert answer["change"]
    assert answer["remedy"]
    assert answer["refute"]


@pytest.mark.parametrize(
    "text", ["", "\n\n", "hello\nworld\n", "ValueError: the moon is too bright\n", "\x00\xff" * 50]
)
def test_what_no_signature_knows_is_not_recognised(text: str) -> None:
    assert triage_text(text, SIGNATURES)["class"] is None


def test_a_second_start_in_the_same_log_is_a_story_of_its_own() -> None:
    first = log("h200-logs/base.log")
    answer = triage_text(first + log("h200-logs/bad-oom.log"), SIGNATURES)
    assert (answer["state"], answer["class"], answer["ready_line"]) == ("failed", "oom-graph", None)
    assert answer["line"] == first.count(b"\n") + 43


def test_a_unit_that_is_started_again_forgets_its_last_run_before_the_engine_says_a_word() -> None:
    again = "flash.service: Scheduled restart job, restart counter is at 1.\nStarted flash.service - SGLang flash.\n"
    answer = triage_text(log("h200-logs/base.log") + again.encode() + log("cpu-logs/cpu-bad-path.log"), SIGNATURES)
    assert (answer["state"], answer["class"], answer["stage"]) == ("failed", "path-missing", "args")


def test_the_rank_that_failed_is_named() -> None:
    text = (
        "[2026-06-17 23:46:02 TP0] Load weight begin. avail mem=93 GB\n"
        "[2026-06-17 23:46:02 DP1 TP3 EP3] Load weight begin. avail mem=93 GB\n"
        "[2026-06-17 23:46:03 DP1 TP3 EP3] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.25 GiB.\n"
        "[2026-06-17 23:46:03 TP0] Load weight end. elapsed=1 s\n"
    )
    answer = triage_text(text, SIGNATURES)
    assert (answer["class"], answer["rank"], answer["line"]) == ("oom-load", "DP1 TP3 EP3", 4)


@pytest.mark.parametrize(
    ("reached", "stage"),
    [("Init torch distributed begin.", "init"), ("Load weight begin.", "load"), ("Load weight end.", "pool")],
)
def test_what_the_main_process_says_is_of_the_stage_that_the_ranks_have_reached(reached: str, stage: str) -> None:
    text = (
        "[2026-06-17 23:46:01] server_args=ServerArgs(tp_size=2)\n"
        f"[2026-06-17 23:46:02 TP0] {reached}\n[2026-06-17 23:46:02 TP1] Init torch distributed begin.\n"
        "[2026-06-17 23:50:00] Subprocess scheduler_1 (pid=81) crashed with exit code -9. Triggering SIGQUIT\n"
    )
    answer = triage_text(text, SIGNATURES)
    assert (answer["class"], answer["stage"]) == ("sigkill", stage)


def test_what_other_ranks_say_after_the_first_death_is_no_cause() -> None:
    text = (
        "[2026-06-17 23:46:02 TP0] The server is fired up and ready to roll!\n"
        "[2026-06-17 23:50:00] Subprocess scheduler_1 (pid=81) crashed with exit code -9. Triggering SIGQUIT\n"
        "[2026-06-17 23:50:01 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
        "torch.distributed.DistBackendError: NCCL error in: x.cpp:1, remote process exited\n"
    )
    answer = triage_text(text, SIGNATURES)
    assert (answer["class"], answer["line"], answer["then"]) == ("sigkill", 2, {"state": "crashed", "line": 2})


CARRIERS = [
    "Jun 17 23:46:02 gpu01 python[4711]: ",
    "2026-06-17T23:46:02.123456Z ",
    "2026-06-17T23:46:02.123456Z stdout F ",
    "sglang-kimi-k2  | ",
    "(SGLangWorker pid=38138) ",
    "[rank0]: ",
    "\x1b[31m",
    "  67%|██████▋   | 2/3 [01:35<00:48, 48.11s/it]",
]


@pytest.mark.parametrize("carrier", CARRIERS)
def test_what_carries_a_line_does_not_hide_it(carrier: str) -> None:
    lines = ["[2026-06-17 23:46:02 TP0] Load weight begin.", "[2026-06-17 23:46:02 TP0] MemoryError"]
    answer = triage_text("".join(f"{carrier}{line}\n" for line in lines), SIGNATURES)
    assert (answer["class"], answer["root"]) == ("host-limit", "MemoryError")
