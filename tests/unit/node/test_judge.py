"""A start is judged from all that is observed of it, at the first decisive signal and not before."""

import re
from datetime import datetime
from typing import TYPE_CHECKING, Any

import pytest
from recorded import KEY, SIGNATURES, log, runs

from dsv4deploy.node.judge import Judge, wrong_answer

if TYPE_CHECKING:
    from collections.abc import Callable

STAMP = "[2026-06-17 23:46:02 TP0] "
LOADING = f"{STAMP}server_args=ServerArgs(x=1)\n{STAMP}Load weight begin. avail mem=93.10 GB\n"
CAPTURING = f"{LOADING}{STAMP}Load weight end.\n{STAMP}Capture target decode CUDA graph begin. bs=[1, 2, 4]\n"
STARTED = f"{CAPTURING}{STAMP}INFO:     Started server process [10]\n"
READY = f"{STAMP}The server is fired up and ready to roll!\n"
DIED = f"{STAMP}Received sigquit from a child process. It usually means the child failed.\n"
TEXT = '{"choices": [{"text": " Paris", "finish_reason": "length"}]}'
OURS = {10, 11, 12}
RUNS = runs()


def judge(**expectations: object) -> Judge:
    return Judge(SIGNATURES, {"started": 0.0, **expectations})


def proved(one: Judge, at: float) -> None:
    one.process(at, True, pids=OURS, listener=10)
    one.http(at, "/health", 200)
    one.http(at, "/v1/completions", 200, TEXT)


def said(one: Judge, at: float) -> tuple[str, str | None, bool]:
    verdict = one.verdict(at)
    return verdict["state"], verdict["class"], verdict["decided"]


# Ready


def test_ready_needs_line_health_completion_and_owner() -> None:
    one = judge()
    steps: list[Callable[[], None]] = [
        lambda: one.log(1, STARTED + READY),
        lambda: one.http(2, "/health", 200),
        lambda: one.http(3, "/v1/completions", 200, TEXT),
        lambda: one.process(4, True, pids=OURS, listener=10),
    ]
    for at, step in enumerate(steps, 1):
        assert not one.verdict(at)["decided"]
        step()
    verdict = one.verdict(5)
    assert (verdict["state"], verdict["pid"], all(verdict["proofs"].values())) == ("ready", 10, True)


@pytest.mark.parametrize(
    "body", ["", "hello", "[]", "{}", '{"choices": []}', '{"choices": [{"text": ""}]}', "[1]", "null"]
)
def test_an_answer_without_text_is_no_completion(body: str) -> None:
    assert wrong_answer("/v1/completions", 200, body)


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/completions", TEXT),
        ("/v1/completions", '{"choices": [{"text": ""}], "usage": {"completion_tokens": 1}}'),
        ("/generate", '{"text": " Paris"}'),
        ("/v1/chat/completions", '{"choices": [{"message": {"content": "Paris"}}]}'),
        ("/v1/chat/completions", '{"choices": [{"message": {"content": null, "reasoning_content": "hm"}}]}'),
    ],
)
def test_the_shapes_of_a_completion(path: str, body: str) -> None:
    assert wrong_answer(path, 200, body) is None
    assert wrong_answer(path, 500, body)


def test_completions_that_are_wrong_three_times_are_a_failure() -> None:
    one = judge()
    one.log(1, STARTED + READY)
    one.process(1, True, pids=OURS, listener=10)
    one.http(1, "/health", 200)
    for at in range(3):
        assert not one.verdict(at)["decided"]
        one.http(at, "/v1/completions", 200, '{"choices": []}')
    verdict = one.verdict(4)
    assert (verdict["state"], verdict["why"]) == ("failed", "/v1/completions answered something that is no completion")


def test_a_completion_that_needs_a_key_we_do_not_have_is_no_failure() -> None:
    one = judge(limit=60)
    one.log(1, STARTED + READY)
    for at in range(2, 50, 2):
        one.process(at, True, pids=OURS, listener=10)
        one.http(at, "/health", 200)
        one.http(at, "/v1/completions", 401)
        assert said(one, at) == ("progressing", None, False)
    verdict = one.verdict(61)
    assert (verdict["state"], verdict["late"], "API key" in verdict["why"]) == ("progressing", True, True)


# Traps


def test_a_stale_server_that_answers_200_is_not_ours_and_keeps_the_port() -> None:
    one = judge()
    one.log(1, LOADING)
    for at in range(2, 40, 2):
        one.process(at, True, pids=OURS, listener=666)
        one.http(at, "/health", 200)
        one.http(at, "/v1/completions", 200, TEXT)
    verdict = one.verdict(40)
    assert (verdict["state"], verdict["class"], verdict["stage"]) == ("failed", "port-in-use", "load")
    assert "666" in verdict["why"]
    assert verdict["change"] == ["server.port"]


def test_a_server_that_prints_the_ready_line_and_dies() -> None:
    one = judge()
    one.log(1, STARTED + READY)
    one.process(2, False, code=-9)
    verdict = one.verdict(2)
    assert (verdict["state"], verdict["class"], verdict["stage"]) == ("failed", "sigkill", "serve")


def test_a_server_that_dies_after_it_was_proved_ready() -> None:
    one = judge()
    one.log(1, STARTED + READY)
    proved(one, 2)
    assert said(one, 2) == ("ready", None, True)
    one.log(9, f"{STAMP}Scheduler hit an exception: Traceback\ntorch.OutOfMemoryError: CUDA out of memory.\n{DIED}")
    one.process(12, False, code=-9)
    assert said(one, 12) == ("failed", "oom-serve", True)


def test_503_for_ten_minutes_and_then_fine() -> None:
    one = judge()
    one.log(1, STARTED)
    for at in range(5, 600, 5):
        one.process(at, True, pids=OURS, listener=10)
        one.http(at, "/health", 503)
        assert said(one, at) == ("progressing", None, False)
    one.log(601, READY)
    proved(one, 602)
    assert said(one, 602) == ("ready", None, True)


def test_refused_for_minutes_while_weights_load_is_normal() -> None:
    one = judge(weight_bytes=160 << 30)
    one.log(1, LOADING)
    for at in range(5, 1800, 5):
        one.process(at, True, pids=OURS, listener=None)
        one.http(at, "/health", None)
        assert said(one, at) == ("progressing", None, False)


def test_the_ready_line_of_an_earlier_start_is_forgotten() -> None:
    one = judge()
    one.log(1, STARTED + READY + LOADING)
    proved(one, 2)
    verdict = one.verdict(2)
    assert (verdict["state"], verdict["stage"], verdict["proofs"]["ready_line"]) == ("progressing", "load", False)


def test_a_server_whose_health_never_answers_is_hung() -> None:
    one = judge()
    one.log(1, STARTED + READY)
    for at in range(2, 200, 30):
        one.process(at, True, pids=OURS, listener=10)
        one.http(at, "/health", None)
    assert said(one, 170) == ("progressing", None, False)
    assert said(one, 182) == ("hung", None, True)


def test_a_traceback_before_ready_that_is_harmless() -> None:
    one, name = judge(), "cpu-logs/cpu-skip-warmup-traceback-before-ready.log"
    for at, line in enumerate(log(name).split(b"\n")[:117]):
        one.log(at / 10, line + b"\n")
        assert said(one, at / 10)[0] == "progressing"
    proved(one, 12)
    assert said(one, 12) == ("ready", None, True)


def test_our_own_stop_is_no_failure_however_it_looks() -> None:
    one = judge()
    one.log(1, STARTED)
    one.stop(2)
    one.log(2, f"{STAMP}Subprocess scheduler_0 (pid=11) crashed with exit code -15. Triggering SIGQUIT\n")
    one.process(3, False, code=-9)
    assert said(one, 3) == ("stopped-by-us", None, True)


def test_a_stop_after_a_failure_does_not_hide_it() -> None:
    one = judge()
    one.log(1, STARTED)
    one.process(2, False, code=-11)
    one.stop(3)
    assert said(one, 4) == ("failed", "native-crash", True)


OOM = "Out of memory: Killed process {} (sglang::schedul) total-vm:512000000kB, anon-rss:251000000kB"


@pytest.mark.parametrize(
    ("kernel", "kind"),
    [([], "sigkill"), ([OOM.format(4711)], "sigkill"), ([OOM.format(11)], "host-oom-killed")],
    ids=["no-record", "somebody-else", "ours"],
)
def test_signal_9_is_the_kernels_only_when_the_kernel_says_so(kernel: list[str], kind: str) -> None:
    one = judge()
    one.log(1, LOADING)
    one.process(2, True, pids=OURS, listener=None)
    one.log(3, f"{STAMP}Subprocess scheduler_0 (pid=11) crashed with exit code -9. Triggering SIGQUIT for cleanup...\n")
    for line in kernel:
        one.kernel_line(line)
    one.process(9, False, code=-9)
    assert said(one, 9) == ("failed", kind, True)


def test_a_fault_of_the_card_explains_what_the_log_does_not() -> None:
    one = judge()
    one.log(1, STARTED)
    one.kernel_line("NVRM: Xid (PCI:0000:41:00): 79, GPU has fallen off the bus.")
    one.process(2, False, code=-9)
    assert said(one, 2) == ("failed", "gpu-fault", True)


@pytest.mark.parametrize(
    ("code", "kind"), [(-9, "sigkill"), (137, "sigkill"), (-11, "native-crash"), (1, None), (0, None), (None, None)]
)
def test_an_exit_without_a_word(code: int | None, kind: str | None) -> None:
    one = judge()
    one.log(1, LOADING)
    one.process(2, False, code=code)
    assert said(one, 2) == ("failed", kind, True)


def test_a_taken_port_is_final_while_the_process_lives_on() -> None:
    one = judge()
    one.log(1, STARTED)
    one.log(
        2, f"{STAMP}ERROR:    [Errno 98] error while attempting to bind on address ('::', 1): address already in use\n"
    )
    assert said(one, 2) == ("failed", "port-in-use", True)


def test_a_death_is_judged_when_its_traceback_has_come_to_its_end() -> None:
    one = judge()
    one.log(1, f"{CAPTURING}{STAMP}Scheduler hit an exception: Traceback (most recent call last):\n")
    assert said(one, 1.5) == ("progressing", None, False)
    one.log(2, "torch.AcceleratorError: CUDA error: dependency created on uncaptured work in another stream\n")
    assert said(one, 4.1) == ("failed", "stream-capture", True)


# Deadlines


def test_a_deadline_while_it_moves_is_progressing_and_said_to_be_late() -> None:
    one = judge(limit=300)
    one.log(1, CAPTURING)
    for at in range(10, 310, 10):
        one.log(at, f"\rCapturing batches (bs=4 avail_mem=136.85 GB):  33%|███ | 1/3 [{at}<00:48]")
    verdict = one.verdict(301)
    assert (verdict["state"], verdict["decided"], verdict["late"], verdict["stage"]) == (
        "progressing",
        True,
        True,
        "capture",
    )
    assert verdict["progress"] == {"what": "captured batches", "percent": 33, "done": 1, "all": 3}


def test_a_deadline_in_silence_is_hung() -> None:
    one = judge(limit=300)
    one.log(1, CAPTURING)
    assert said(one, 301) == ("hung", None, True)


def test_ranks_that_never_join_each_other_hang_in_nccl() -> None:
    begin, end = (f"{STAMP}Init torch distributed {word}.\n" for word in ("begin", "ends"))
    start = LOADING.splitlines(keepends=True)[0]
    joining, joined = judge(), judge()
    joining.log(1, start + begin)
    joined.log(1, start + begin + end)
    assert said(joining, 700) == ("hung", "nccl-init-hang", True)
    assert joining.verdict(700)["change"]
    assert said(joined, 700) == ("hung", None, True)


@pytest.mark.parametrize(("weight_bytes", "at"), [(0, 700), (160 << 30, 2400)])
def test_how_long_loading_may_be_silent_follows_the_bytes_of_the_model(weight_bytes: int, at: float) -> None:
    one = judge(weight_bytes=weight_bytes)
    one.log(1, LOADING)
    assert one.verdict(at - 110)["state"] == "progressing"
    assert said(one, at) == ("hung", None, True)


def test_silent_loading_that_reads_from_disk_is_not_hung() -> None:
    one = judge()
    one.log(1, LOADING)
    for at in range(10, 1500, 10):
        one.process(at, True, pids=OURS, listener=None, work=at * 1000)
        assert said(one, at) == ("progressing", None, False)


def test_stages_and_their_times() -> None:
    one = judge()
    for at, text in ((24, LOADING), (50, f"{STAMP}Load weight end.\n"), (51, CAPTURING[len(LOADING) :]), (130, READY)):
        one.log(at, text)
    assert one.verdict(131)["stages"] == {"args": 0, "init": 24, "load": 24, "pool": 50, "capture": 51, "serve": 130}


def test_a_judge_goes_on_where_an_earlier_one_stopped() -> None:
    first = judge()
    first.log(1, CAPTURING)
    first.process(2, True, pids=OURS, listener=None)
    second = Judge(SIGNATURES)
    second.recall(first.memory())
    for line in CAPTURING.splitlines(keepends=True):
        second.log(900, line)
    assert second.verdict(1100)["stages"] == first.verdict(1100)["stages"]
    assert said(second, 1300) == said(first, 1300) == ("hung", None, True)


# Recorded runs, with the times that were recorded


def observations(name: str, seen: dict[str, Any]) -> list[tuple[float, str, Any]]:
    """The log by its own stamps, and health as it was answered, both in seconds since the start."""
    lines = log(name).split(b"\n")
    health = seen.get("health") or seen.get("health_before_ready") or []
    stamps, stamp = [], None
    for line in lines:
        found = re.search(rb"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)", line)
        stamp = datetime.fromisoformat(found.group(1).decode() + "+00:00").timestamp() if found else stamp
        stamps.append(stamp)
    ready = KEY[name].get("ready_line")
    begin = stamps[ready - 1] - health[-1][0] if ready else stamps[-1] - seen["t"]
    told = [((at or begin) - begin, "log", line + b"\n") for at, line in zip(stamps, lines, strict=True)]
    told[-1] = (*told[-1][:2], lines[-1])
    answered = [(float(at), "health", status if isinstance(status, int) else None) for at, status in health]
    return sorted(told + answered, key=lambda one: one[0])


@pytest.mark.parametrize("name", RUNS)
def test_a_recorded_run_with_its_health_answers_and_exit(name: str) -> None:
    key, seen, one = KEY[name], RUNS[name], judge(completion=False, owner=False)
    states = []
    for at, kind, what in observations(name, seen):
        if kind == "log":
            one.log(at, what)
        else:
            one.http(at, "/health", what)
        states.append(one.verdict(at))
    end = float(seen["t"])
    if key["state"] == "ready":
        assert "ready" in [verdict["state"] for verdict in states]
        assert not [verdict for verdict in states[:-1] if verdict["state"] in ("failed", "hung")]
    elif key["state"] == "progressing":
        assert one.verdict(end)["state"] == "progressing"
    else:
        one.process(end, False, code=seen.get("returncode"))
        verdict = one.verdict(end)
        assert (verdict["state"], verdict["class"]) == ("failed", key["class"])
        assert verdict["line"] in [key["line"], *key.get("also_ok", {}).get("line", [])]


def test_a_port_that_the_engine_still_waits_for_is_no_failure() -> None:
    one = judge()
    one.log(1, f"{STAMP}The port 30244 is in use, but we could not find the process that uses it.\n")
    one.log(2, f"{STAMP}port 30244 is in use. Waiting for 1 seconds for port_base to be available.\n")
    assert said(one, 20) == ("progressing", None, False)
