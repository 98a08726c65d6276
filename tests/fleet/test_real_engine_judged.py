"""The real SGLang on the CPU, judged live from its log and its HTTP: what happens to it and what it refuses."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from bed_host import sh
from belongings import free_port
from recorded import COMPILED

from dsv4deploy.node import procs
from dsv4deploy.node.follow import run

pytestmark = pytest.mark.fleet

LIMIT_S = 600
Started = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def engine() -> Path:
    """The folder in which the engine and a tiny random model lie."""
    if os.geteuid() != 0 or shutil.which("systemd-nspawn") is None:
        pytest.skip("needs root and what builds the layer of the real engine")
    layer = sh("bash", Path(__file__).parent / "sglang/layer.sh", timeout=1200).stdout.strip().splitlines()[-1]
    return Path(layer) / "opt/sglang"


@pytest.fixture
def start(engine: Path, tmp_path: Path) -> Iterator[Started]:
    """Start the engine with these words more; the request that follows it."""
    running: list[subprocess.Popen[bytes]] = []

    def started(*words: str, port: int | None = None, model: str = "tiny") -> dict[str, Any]:
        port = port or free_port()
        log = tmp_path / f"{len(running)}.log"
        common = (
            "--load-format", "dummy", "--device", "cpu", "--attention-backend", "torch_native",
            "--sampling-backend", "pytorch", "--context-length", "512", "--max-total-tokens", "4096",
        )  # fmt: skip
        program = [str(engine / "venv/bin/python"), "-m", "sglang.launch_server", "--model-path", str(engine / model)]
        with log.open("wb") as out:
            child = subprocess.Popen(
                [*program, "--served-model-name", "tiny", "--port", str(port), *common, *words],
                stdout=out,
                stderr=out,
                env={**os.environ, "PYTHONPATH": str(engine / "stubs"), "HF_HUB_OFFLINE": "1"},
                start_new_session=True,
            )
        running.append(child)
        threading.Thread(target=child.wait, daemon=True).start()
        return {
            "pid": child.pid, "port": port, "log": str(log), "model": "tiny", "signatures": COMPILED, "limit_s": LIMIT_S,
        }  # fmt: skip

    yield started
    for child in running:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)


def judged(request: dict[str, Any], memory: dict[str, Any] | None = None) -> tuple[dict[str, Any], str]:
    """The verdict, and what a person reads of it when it is not the one expected."""
    found = run({**request, "memory": memory})
    return found, f"{found['why']}: {found['root']}\n" + "\n".join(found["lines"])


def test_ready_and_then_a_scheduler_that_is_killed(start: Started) -> None:
    request = start()
    found, told = judged(request)
    assert (found["state"], all(found["proofs"].values())) == ("ready", True), told
    assert {"load", "pool", "warmup", "serve"} <= set(found["stages"])
    schedulers = [
        one.pid for one in procs.family(request["pid"]) if "scheduler" in Path(f"/proc/{one.pid}/cmdline").read_text()
    ]
    os.kill(schedulers[0], signal.SIGKILL)
    found, told = judged(request, found["memory"])
    assert (found["state"], found["stage"], found["class"]) == ("failed", "serve", "sigkill"), told


def test_ready_and_then_stopped_by_us(start: Started) -> None:
    request = start()
    found, told = judged(request)
    assert found["state"] == "ready", told
    os.kill(request["pid"], signal.SIGTERM)
    found, told = judged(request, found["memory"])
    assert (found["state"], found["class"]) == ("stopped-by-us", None), told


@pytest.mark.parametrize(
    ("words", "model", "kind"),
    [
        pytest.param((), "none", "path-missing", id="bad path"),
        pytest.param(("--tp", "3"), "tiny", "bad-args", id="tp 3", marks=pytest.mark.soak),
    ],
)
def test_what_the_engine_refuses(start: Started, words: tuple[str, ...], model: str, kind: str) -> None:
    found, told = judged(start(*words, model=model))
    assert (found["state"], found["class"]) == ("failed", kind), told


def test_a_port_that_a_server_which_answers_200_holds(start: Started) -> None:
    with socket.create_server(("127.0.0.1", 0)) as held:

        def answer() -> None:
            while True:
                one, _ = held.accept()
                one.recv(4096)
                one.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")
                one.close()

        threading.Thread(target=answer, daemon=True).start()
        found, told = judged(start(port=held.getsockname()[1]))
    assert (found["state"], found["class"]) == ("failed", "port-in-use"), told
