"""A log is read the same however it arrives, and nothing in it can break the reader."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from recorded import KEY, SIGNATURES, log

from dsv4deploy.node.logs import PIECE, Lines
from dsv4deploy.node.search import ROUTINE
from dsv4deploy.node.story import Story
from dsv4deploy.node.triage import told, triage_text

NAMES = st.sampled_from(sorted(KEY))
WORDS = st.sampled_from([
    *ROUTINE.splitlines(keepends=True),
    *SIGNATURES.finds,
    "[2026-06-17 23:46:02 TP0] ", "[2026-06-17 23:46:02] ", "\r", "\n", "\n", "\x1b[31m", "Load weight begin",
    "The server is fired up and ready to roll!", "server_args=", 'Traceback (most recent call last):\n  File "x"\n',
    "Scheduler hit an exception: ", "SIGTERM received", "x" * (PIECE // 2), "\ufffd", "\x00",
])  # fmt: skip


def harmless(said: str) -> bool:
    """Whether a server that was ready and then said this is still held to be."""
    ready = "[2026-06-17 23:46:02 TP0] The server is fired up and ready to roll!\n"
    answer = triage_text(f"{ready}[2026-06-17 23:46:03] {said}\n", SIGNATURES)
    return (answer["state"], answer["class"]) == ("ready", None)


def fed_in_pieces(data: bytes, cuts: list[int]) -> dict[str, object]:
    story, start = Story(SIGNATURES), 0
    for cut in [*sorted(cut % (len(data) + 1) for cut in cuts), len(data)]:
        story.feed(data[start:cut])
        start = cut
    story.close()
    return told(story)


@settings(max_examples=60, deadline=None)
@given(name=NAMES, cuts=st.lists(st.integers(0, 1 << 20), max_size=12))
def test_chunking_does_not_change_the_answer_of_a_recorded_log(name: str, cuts: list[int]) -> None:
    assert fed_in_pieces(log(name), cuts) == triage_text(log(name), SIGNATURES)


@settings(max_examples=200, deadline=None)
@given(words=st.lists(WORDS, max_size=40), cuts=st.lists(st.integers(0, 1 << 20), max_size=6))
def test_chunking_does_not_change_the_answer_of_any_log(words: list[str], cuts: list[int]) -> None:
    data = "".join(words).encode()
    assert fed_in_pieces(data, cuts) == triage_text(data, SIGNATURES)


@settings(max_examples=200, deadline=None)
@given(data=st.binary(max_size=4000))
def test_arbitrary_bytes_are_read(data: bytes) -> None:
    answer = triage_text(data, SIGNATURES)
    assert answer["state"] in {"ready", "failed", "progressing", "stopped-by-us"}
    assert 0 <= answer["line"] <= answer["total_lines"] + 1


def test_a_line_without_end_does_not_grow_in_memory() -> None:
    lines = Lines()
    for _ in range(50):
        assert all(len(batch) % PIECE == 0 for batch in lines.feed("Capturing batches 1 %\r" * 4000))
        assert len(lines.waiting) < PIECE


def test_a_failure_at_the_end_of_a_line_of_megabytes_is_found() -> None:
    bar = "\r  0%|          | 0/3 [00:00<?, ?it/s]" * 100_000
    answer = triage_text(f"{bar}\rtorch.OutOfMemoryError: CUDA out of memory.\n", SIGNATURES)
    assert (answer["class"], answer["line"]) == ("oom-load", 1)


def test_an_exception_that_no_signature_knows_is_shown_and_not_recognised() -> None:
    text = "[2026-06-17 23:46:02 TP0] Scheduler hit an exception: Traceback (most recent call last):\nmoon.KaboomError: bright\n"
    answer = triage_text(text, SIGNATURES)
    assert (answer["state"], answer["class"], answer["root"], answer["line"]) == (
        "failed",
        None,
        "moon.KaboomError: bright",
        2,
    )


def test_a_traceback_that_the_engine_survived_is_no_failure() -> None:
    text = (
        "Traceback (most recent call last):\nmoon.KaboomError: bright\n[2026-06-17 23:46:02 TP0] Load weight begin.\n"
    )
    assert triage_text(text, SIGNATURES)["state"] == "progressing"


def test_one_decode_line_without_acceptance_is_no_proof() -> None:
    ready = "[2026-06-17 23:46:02 TP0] The server is fired up and ready to roll!\n"
    none = "[2026-06-17 23:46:03 TP0] Decode batch, #running-req: 1, accept len: 1.00, accept rate: 0.00, x\n"
    some = "[2026-06-17 23:46:04 TP0] Decode batch, #running-req: 1, accept len: 2.31, accept rate: 0.66, x\n"
    assert triage_text(ready + none, SIGNATURES)["class"] == "spec-no-accept"
    assert triage_text(ready + none + some, SIGNATURES)["class"] is None


@pytest.mark.parametrize(
    "said",
    [
        "Receive: obj=GenerateReqInput(rid='a', text='RuntimeError: CUDA out of memory. Why?')",
        "Receive OpenAI: obj={'messages': [{'content': 'CUDA error: no kernel image is available'}]}",
        "Finish: obj=GenerateReqInput(rid='a'), out={'text': 'Received SIGTERM. Shutting down'}",
        '{"timestamp": "2026-06-17T23:46:03", "event": "request.finished", "out": {"text": "NVRM: Xid (PCI:0): 79"}}',
    ],
)
def test_the_words_of_a_logged_request_are_nobody_s_failure(said: str) -> None:
    assert harmless(said)


@pytest.mark.parametrize(
    "said",
    [
        '10.0.0.7:40112 - "GET /favicon.ico HTTP/1.1" 404 Not Found',
        "gpu01:1:1 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]",
        "Endpoint '/get_model_info' is deprecated and will be removed in a future version.",
        "/x/functions.py:725: UserWarning: Graph break due to unsupported builtin x.PyCapsule.f.",
        "W1 UserWarning: resource_tracker: There appear to be 1 leaked semaphore objects to clean up at shutdown",
    ],
)
def test_a_scary_line_of_a_healthy_server_is_no_failure(said: str) -> None:
    assert harmless(said)
