"""A live process with a real log and real HTTP is followed to its verdict."""

import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import stand_in
from belongings import free_port
from recorded import COMPILED

from dsv4deploy.node.follow import run

START = ["log:server_args=ServerArgs(x=1)", "log:Load weight begin. avail mem=93 GB", "log:Load weight end."]
UP = [*START, "log:Started server process [1]", "listen"]
OUT_OF_MEMORY = (
    "log:Scheduler hit an exception: Traceback\ntorch.OutOfMemoryError: CUDA out of memory. Tried to allocate 1 GiB"
)
READY = "log:The server is fired up and ready to roll!"


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def started(tmp_path: Path, port: int) -> Iterator[Callable[..., dict[str, Any]]]:
    """Start a stand-in that does as the words say; the request to follow it."""
    running: list[subprocess.Popen[bytes]] = []

    def start(*words: str, **request: object) -> dict[str, Any]:
        log = tmp_path / "server.log"
        log.touch()
        child = subprocess.Popen([sys.executable, stand_in.__file__, str(port), str(log), *words])
        running.append(child)
        # Whoever started it collects it, as a supervisor does.
        threading.Thread(target=child.wait, daemon=True).start()
        known = {"pid": child.pid, "port": port, "log": str(log), "signatures": COMPILED, "limit_s": 20}
        return {**known, **request}

    yield start
    for child in running:
        child.kill()


def test_ready(started: Callable[..., dict[str, Any]]) -> None:
    request = started(*UP, "sleep:1", READY, "status:200", "stay")
    found = run(request)
    assert (found["state"], found["stage"], found["pid"]) == ("ready", "serve", request["pid"])
    assert found["lines"][-1].endswith("ready to roll!")


@pytest.mark.parametrize("turn", ["rotate", "empty"])
def test_a_log_that_is_rotated_while_it_is_followed(started: Callable[..., dict[str, Any]], turn: str) -> None:
    found = run(started(*UP, "asked", turn, READY, "status:200", "stay"))
    assert (found["state"], "load" in found["stages"]) == ("ready", True)


def test_what_stood_in_the_log_before_this_start_does_not_count(
    started: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    before = b"[2026-06-17 20:00:00] The server is fired up and ready to roll!\nCUDA out of memory\n"
    (tmp_path / "server.log").write_bytes(before)
    found = run(started(*UP, "status:200", "stay", offset=len(before), limit_s=3))
    assert (found["state"], found["decided"], found["class"]) == ("progressing", False, None)


def test_a_failure_with_its_cause(started: Callable[..., dict[str, Any]], tmp_path: Path) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"exit": -9}')
    found = run(started(*START[:2], OUT_OF_MEMORY, "kill", state_file=str(state)))
    assert (found["state"], found["class"], found["stage"], found["exit_code"]) == ("failed", "oom-load", "load", -9)
    assert found["change"]


# A journal that takes its time: whoever follows it sees the beginning, and `--sync` has it take in the rest.
SLOW_JOURNAL = """#!/bin/sh
case "$*" in
*--dmesg*) ;;
*--sync*) touch {here}/synced ;;
*--follow*) cat {here}/server.log | head -n 2; exec sleep 60 ;;
*) if [ -e {here}/synced ]; then cat {here}/server.log; else head -n 2 {here}/server.log; fi ;;
esac
"""


def test_the_last_words_of_a_process_are_waited_for_when_the_journal_is_late(
    started: Callable[..., dict[str, Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = tmp_path / "bin/journalctl"
    journal.parent.mkdir()
    journal.write_text(SLOW_JOURNAL.format(here=tmp_path))
    journal.chmod(0o755)
    monkeypatch.setenv("PATH", str(journal.parent), prepend=os.pathsep)
    found = run(started(*START[:2], OUT_OF_MEMORY, "kill", log=None, invocation="one"))
    assert (found["state"], found["class"], found["stage"]) == ("failed", "oom-load", "load")
    assert found["lines"][0].endswith("server_args=ServerArgs(x=1)")
    assert len(found["lines"]) == len(START[:2]) + len(OUT_OF_MEMORY.splitlines())


def test_the_exit_code_is_waited_for_when_it_is_collected_late(
    started: Callable[..., dict[str, Any]], tmp_path: Path
) -> None:
    state = tmp_path / "state.json"
    state.write_text('{"exit": null}')
    late = threading.Timer(2, state.write_text, ['{"exit": -9}'])
    late.start()
    found = run(started(*START[:2], "kill", state_file=str(state)))
    late.join()
    assert (found["class"], found["exit_code"]) == ("sigkill", -9)


def test_a_stale_server_on_the_port(started: Callable[..., dict[str, Any]], port: int) -> None:
    stale = ThreadingHTTPServer(("127.0.0.1", port), stand_in.Handler)
    threading.Thread(target=stale.serve_forever, daemon=True).start()
    try:
        found = run(started(*START, READY, "stay", limit_s=4))
    finally:
        stale.shutdown()
        stale.server_close()
    assert (found["state"], found["proofs"]["owner"]) == ("progressing", False)


def test_a_server_that_answers_nothing_is_asked_once_at_a_time(started: Callable[..., dict[str, Any]]) -> None:
    found = run(started(*UP, READY, "mute", "stay", expectations={"quiet": {"serve": 3}}))
    assert (found["state"], found["stage"], found["health"]) == ("hung", "serve", None)


def test_a_wait_in_slices_remembers_its_stages(started: Callable[..., dict[str, Any]]) -> None:
    request = started(*UP, "sleep:3", READY, "status:200", "stay", limit_s=1.5)
    first = run(request)
    assert first["state"] == "progressing"
    second = run({**request, "limit_s": 20, "memory": first["memory"]})
    assert second["state"] == "ready"
    assert second["stages"] == {**first["stages"], "serve": second["stages"]["serve"]}
