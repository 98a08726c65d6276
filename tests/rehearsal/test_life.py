"""A rehearsed server lives as the real one of its version: log, HTTP, signals."""

import json
import re
import signal
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from rehearsals import REFUSED, running

SAMPLES = Path(__file__).parents[1] / "samples"
Folder = Callable[[str], Path]
FITS = ("--tp-size", "2")
CPU = ("--device", "cpu", "--load-format", "dummy", "--attention-backend", "torch_native", "--context-length", "512")
TINY = {"architectures": ["LlamaForCausalLM"], "model_type": "llama", "max_position_embeddings": 2048}
# What begins or ends a stage, in the words of all eras; the rest of a line may differ.
MARKERS = re.compile(
    r"server_args=|Init (?:torch distributed|parallel) (?:begin|ends)|Memory baseline taken|Load weight (?:begin|end)"
    r"|Using KV cache dtype|KV Cache is allocated|DSV4 (?:memory calculation|pool sizes)|Initialize DeepSeekV4"
    r"|Memory pool end|Disable (?:piecewise|prefill) CUDA graph because|Capture [\w ]*(?:cuda|CUDA) graph (?:begin|end)"
    r"|max_total_num_tokens=|Init Unified|Tree cache initialized|Engine startup timings|Started server process"
    r"|Waiting for application startup|Application startup complete|Uvicorn running on|GET /model_info"
    r"|POST /generate|POST /freeze_gc|The server is fired up|SIGTERM received|Gracefully exiting"
    r"|kill_process_tree called|Shutting down|Waiting for application shutdown|Application shutdown complete"
    r"|Finished server process"
)


def markers(log: str) -> list[str]:
    return [found[0] for line in log.split("\n") if (found := MARKERS.search(line.rsplit("\r", 1)[-1]))]


@pytest.mark.parametrize(
    ("version", "recorded", "words"),
    [
        ("0.5.10.post1", "cpu-logs/cpu-0.5.10.post1-stubk3.log", (*CPU, "--disable-piecewise-cuda-graph")),
        ("0.5.12.post1", "cpu-logs/cpu-0.5.12.post1-stubk3.log", (*CPU, "--disable-piecewise-cuda-graph")),
        ("0.5.17", "cpu-logs/cpu-0.5.17.log", CPU),
        ("0.5.17", "h200-logs/base.log", ("--load-format", "dummy", "--disable-flashinfer-autotune")),
        ("0.5.23", "cpu-logs/cpu-ok-leader.log", CPU),
    ],
)
def test_the_stages_come_in_the_order_of_the_recorded_log(
    version: str, recorded: str, words: tuple[str, ...], *, folder: Folder, log: Path, tmp_path: Path
) -> None:
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    with running(folder(version), log, "--model-path", str(tmp_path), *words) as server:
        server.wait_for("fired up")
        server.stop()
    assert markers(server.log) == markers((SAMPLES / recorded).read_text(errors="replace"))


def test_a_deepseek_v4_starts_in_the_order_of_the_recorded_log(folder: Folder, log: Path) -> None:
    words = (*FITS, "--load-format", "dummy", "--disable-flashinfer-autotune", "--moe-runner-backend", "triton")
    with running(folder("0.5.17"), log, *words) as server:
        server.wait_for("fired up")
        server.stop()
    rehearsed = [line for line in server.log.split("\n") if " TP1]" not in line]
    recorded = (SAMPLES / "h200-logs/dsv4-base.log").read_text(errors="replace")
    # The recorded one sized its pool twice, because a limit was given.
    twice = markers(recorded)
    twice.remove("DSV4 pool sizes")
    assert markers("\n".join(rehearsed)) == twice


@pytest.mark.parametrize("version", ["0.5.10.post1", "0.5.21"])
def test_the_port_is_refused_until_everything_is_captured_then_503_then_200(
    version: str, folder: Folder, log: Path, tmp_path: Path
) -> None:
    world = tmp_path / "world.json"
    world.write_text(json.dumps({"rules": [{"when": {}, "then": {"delay": {"warmup": 5}}}]}))
    with running(folder(version), log, *FITS, env={"DSV4_REHEARSAL_WORLD": str(world)}) as server:
        assert server.phases() == [REFUSED, 503, 200]
        bound = server.log.index("Uvicorn running on")
        assert server.log.index("Capture") < bound < server.log.index("503 Service Unavailable")


@pytest.mark.parametrize(
    ("version", "signum", "group", "code", "said"),
    [
        ("0.5.17", signal.SIGTERM, False, -9, "Gracefully exiting"),
        ("0.5.18", signal.SIGTERM, False, -9, "include_parent=True"),
        ("0.5.19", signal.SIGTERM, False, 0, "Finished server process"),
        ("0.5.23", signal.SIGTERM, False, 0, "Application shutdown complete"),
        ("0.5.23", signal.SIGTERM, True, -9, "crashed with exit code -15. Triggering SIGQUIT"),
        ("0.5.23", signal.SIGINT, True, 0, "Shutting down"),
    ],
)
def test_a_signal_ends_it_as_it_ends_that_version(
    version: str, signum: signal.Signals, *, group: bool, code: int, said: str, folder: Folder, log: Path
) -> None:
    with running(folder(version), log, *FITS) as server:
        server.wait_for("fired up")
        assert server.stop(signum, group=group) == code
        assert said in server.log
        assert not server.alive()


def test_sigterm_waits_for_the_requests_that_run(folder: Folder, log: Path) -> None:
    with running(folder("0.5.23"), log, *FITS) as server, ThreadPoolExecutor() as pool:
        server.wait_for("fired up")
        long = pool.submit(server.ask, "/v1/completions", {"prompt": "a", "max_tokens": 8000})
        server.wait_for("#new-token: 1,")
        assert server.stop() == 0
        assert long.result()[0] == 200
        assert "Remaining number of requests 1" in server.log


def test_a_taken_port_is_no_exit_but_a_hang_that_ignores_sigterm(folder: Folder, log: Path, tmp_path: Path) -> None:
    with running(folder("0.5.23"), log, *FITS) as first:
        first.wait_for("fired up")
        with running(folder("0.5.23"), tmp_path / "second.log", *FITS, port=first.port) as second:
            second.wait_for("INFO:     Waiting for application shutdown.")
            assert "[Errno 98] error while attempting to bind on address ('127.0.0.1'" in second.log
            second.process.send_signal(signal.SIGTERM)
            assert first.ask("/health")[0] == 200
            assert second.process.poll() is None


def test_a_killed_scheduler_takes_the_server_with_it(folder: Folder, log: Path) -> None:
    with running(folder("0.5.23"), log, *FITS, env={"DSV4_REHEARSAL_FAIL": "sigkill:requests=1"}) as server:
        server.wait_for("fired up")
        assert server.ask("/v1/completions", {"prompt": "a"})[0] == 200
        assert server.ask("/v1/completions", {"prompt": "a"})[0] == REFUSED
        assert server.process.wait(timeout=20) == -9
        assert "Subprocess scheduler_0" in server.log


def test_the_long_prompt_is_the_one_that_kills_and_it_kills_the_rank_that_was_named(folder: Folder, log: Path) -> None:
    world = {"DSV4_REHEARSAL_FAIL": "oom-serve:rank=1,tokens=50000"}
    with running(folder("0.5.23"), log, *FITS, env=world) as server:
        server.wait_for("fired up")
        assert server.ask("/generate", {"text": "a " * 20000, "sampling_params": {"max_new_tokens": 1}})[0] == 200
        assert "#new-token: 8192," in server.log
        assert server.ask("/generate", {"text": "a " * 60000})[0] == REFUSED
        assert server.process.wait(timeout=20) == -9
        assert " TP1] Scheduler hit an exception" in server.log
        assert " TP0] Scheduler hit an exception" not in server.log


def test_a_hung_scheduler_turns_health_to_503(folder: Folder, log: Path) -> None:
    short = {"DSV4_REHEARSAL_FAIL": "hung:seconds=0", "SGLANG_HEALTH_CHECK_TIMEOUT": "5"}
    with running(folder("0.5.23"), log, *FITS, env=short) as server:
        server.wait_for("fired up")
        assert server.ask("/health")[0] in {200, 503}
        assert server.ask("/health")[0] == 503
        assert server.ask("/ready")[0] == 503
        assert "Health check failed. Server couldn't get a response from detokenizer for last 5 seconds" in server.log


def test_it_answers_what_the_engine_answers(folder: Folder, log: Path) -> None:
    with running(folder("0.5.21"), log, *FITS, "--served-model-name", "flash", "--enable-metrics") as server:
        server.wait_for("fired up")
        completion = json.loads(server.ask("/v1/completions", {"prompt": "a b", "max_tokens": 5})[1])
        assert completion["usage"]["completion_tokens"] == 5
        assert len(completion["choices"][0]["text"].split()) == 5
        said = json.loads(server.ask("/v1/chat/completions", {"messages": [{"role": "user", "content": "a"}]})[1])
        assert said["choices"][0]["message"]["role"] == "assistant"
        stream = server.ask("/v1/completions", {"prompt": "a", "max_tokens": 2, "stream": True})[1]
        assert stream.count("data: {") == 2
        assert stream.endswith("data: [DONE]\n\n")
        assert json.loads(server.ask("/generate", {"text": "a"})[1])["meta_info"]["completion_tokens"] == 128
        assert json.loads(server.ask("/v1/models")[1])["data"][0]["id"] == "flash"
        assert json.loads(server.ask("/get_model_info")[1])["model_path"] == "/models/none"
        assert "sglang:num_requests_total" in server.ask("/metrics")[1]
        assert server.ask("/ready")[0] == 200
        assert server.ask("/v1/completions", {"prompt": "a", "max_tokens": 2**30})[0] == 400
        assert server.ask("/nothing")[0] == 404


def test_it_says_that_it_is_a_rehearsal(folder: Folder, log: Path) -> None:
    with running(folder("0.5.21"), log, *FITS) as server:
        server.wait_for("fired up")
        told = json.loads(server.ask("/server_info")[1])
    assert "Rehearsal: this is a stand-in for SGLang 0.5.21" in server.log
    assert told["rehearsal"] is True
    assert told["version"] == "0.5.21"
    assert (told["attention_backend"], told["page_size"], told["kv_cache_dtype"]) == ("dsv4", 256, "fp8_e4m3")
    assert told["moe_runner_backend"] == "flashinfer_mxfp4"


def test_a_key_is_asked_for_and_never_shown(folder: Folder, log: Path) -> None:
    with running(folder("0.5.12"), log, *FITS, "--api-key", "canary-key", "--enable-metrics") as server:
        server.wait_for("fired up")
        assert [server.ask(path)[0] for path in ("/health", "/health_generate", "/metrics")] == [200, 200, 200]
        assert [server.ask(path)[0] for path in ("/v1/models", "/server_info", "/ready")] == [401, 401, 404]
        assert server.ask("/v1/models", key="canary-key")[0] == 200
        assert "canary-key" not in server.ask("/server_info", key="canary-key")[1]
    assert "canary-key" not in server.log


def test_a_node_that_is_not_the_first_is_always_healthy_and_ignores_sigterm(folder: Folder, log: Path) -> None:
    words = ("--tp-size", "4", "--nnodes", "2", "--node-rank", "1", "--dist-init-addr", "127.0.0.1:1")
    with running(folder("0.5.23"), log, *words) as server:
        assert server.phases() == [REFUSED, 200]
        server.process.send_signal(signal.SIGTERM)
        server.wait_for("SIGTERM received on node_rank 1; waiting for the rank-0 ShutdownReq broadcast")
        assert server.ask("/health")[0] == 200
        assert " TP2]" in server.log
        assert " TP0]" not in server.log


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--cuda-graph-max-bs", "32"), "ambiguous option: --cuda-graph-max-bs could match"),
        (("--nope",), "unrecognized arguments: --nope"),
        (("--port", "http"), "argument --port: invalid int value: 'http'"),
        (("--moe-runner-backend", "cuda"), "argument --moe-runner-backend: invalid choice: 'cuda'"),
    ],
)
def test_it_refuses_in_the_words_of_argparse(words: tuple[str, ...], message: str, folder: Folder, log: Path) -> None:
    with running(folder("0.5.21"), log, *words) as server:
        assert server.process.wait(timeout=20) == 2
    assert message in server.log
    assert "usage: launch_server.py" in server.log or "usage: python3 -m sglang.launch_server" in server.log
