"""Checks against servers that live, compute, hang, drain and die: they tell, and they never harm."""

import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from rehearsals import Running, running

from dsv4deploy.cli.app import run as main
from dsv4deploy.node.checks.every import run

Folder = Callable[[str], Path]
READY = "ready to roll"


def checkup(server: Running, *only: str, **health: Any) -> dict[str, dict[str, Any]]:
    """The findings by check."""
    request = {
        "host": "127.0.0.1",
        "port": server.port,
        "model": "none",
        "health": {"timeout_s": 2, **health},
        "argv": ["--port", str(server.port), "--tp-size", "2"],
        "lines": server.log.splitlines(),
        "rehearsal": True,
        "only": list(only),
    }
    return {one["check"]: one for one in run(request)["checks"]}


def test_a_healthy_server(folder: Folder, log: Path) -> None:
    with running(folder("0.5.23"), log, "--tp-size", "2", "--enable-metrics") as server:
        server.wait_for(READY)
        found = checkup(
            server,
            log={"expect": [READY], "forbid": ["Traceback"]},
            metrics={"num_queue_reqs": {"below": 0}},
            longest_prompt=5000,
            concurrency=4,
            capacity=True,
        )
        assert {name: one["state"] for name, one in found.items()} == {
            "log": "good", "gpus": "skipped", "endpoints": "good", "server-info": "good", "patches": "skipped",
            "metrics": "good", "smoke": "good", "capacity": "good",
        }  # fmt: skip
        assert found["endpoints"]["told"].startswith("/ready")
        assert "GET /health" not in server.log.split(READY)[1].split("POST /v1/completions")[0]


def test_a_version_without_ready_is_asked_for_health(folder: Folder, log: Path) -> None:
    with running(folder("0.5.9"), log, "--tp-size", "2") as server:
        server.wait_for(READY)
        assert checkup(server, "endpoints")["endpoints"]["told"] == "/health, /v1/models answer 200"


def test_a_server_that_computes_for_long_is_not_called_dead_and_is_left_alone(folder: Folder, log: Path) -> None:
    with running(folder("0.5.9"), log, "--tp-size", "2", env={"DSV4_REHEARSAL_SPEED": "8"}) as server:
        server.wait_for(READY)
        prompt = {"model": "none", "prompt": "word " * 900_000, "max_tokens": 1}
        long = threading.Thread(target=lambda: server.ask("/v1/completions", prompt), daemon=True)
        long.start()
        server.wait_for("#new-token: 8192")
        before = server.log.count("HTTP/1.1")
        found = checkup(server, timeout_s=0.2)
        assert found["endpoints"]["state"] == "unknown"
        assert "not asked again" in found["endpoints"]["told"]
        assert {found[name]["state"] for name in ("server-info", "metrics", "smoke", "capacity")} == {"skipped"}
        assert server.log.count("HTTP/1.1") - before <= 2


def test_a_server_that_hangs_after_ready_is_told_with_one_request(folder: Folder, log: Path) -> None:
    with running(folder("0.5.23"), log, "--tp-size", "2", env={"DSV4_REHEARSAL_FAIL": "hung"}) as server:
        server.wait_for(READY)
        found = checkup(server, "smoke", "capacity", timeout_s=0.5)
        assert found["smoke"]["state"] == "unknown"
        assert found["capacity"]["state"] == "skipped"


def test_a_server_that_dies_of_the_load_that_was_promised(folder: Folder, log: Path) -> None:
    with running(folder("0.5.23"), log, "--tp-size", "2", env={"DSV4_REHEARSAL_FAIL": "oom-serve"}) as server:
        server.wait_for(READY)
        found = checkup(server, "capacity", capacity=True, longest_prompt=2000, concurrency=2, timeout_s=10)
        assert found["capacity"]["state"] == "bad"
        assert "did not survive" in found["capacity"]["told"]


def test_nobody_there(folder: Folder, log: Path) -> None:
    with running(folder("0.5.23"), log, "--tp-size", "2") as server:
        server.wait_for(READY)
    found = checkup(server)
    assert found["endpoints"]["state"] == "bad"
    assert "refused" in found["endpoints"]["told"]


def test_by_address_and_the_answers_of_before(
    folder: Folder, log: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with running(folder("0.5.23"), log, "--tp-size", "2") as server:
        server.wait_for(READY)
        url = f"http://127.0.0.1:{server.port}"
        (tmp_path / "profile.yaml").write_text(
            "name: x\nengine: {version: 0.5.23, venv: /opt/x, rehearsal: true}\n"
            f"model: {{path: /models/none}}\nparallel: {{tp: 2}}\nserver: {{port: {server.port}}}\n"
        )
        words = ["health", "--url", url, "--profile", "profile.yaml"]
        assert main(words) == 0
        told = capsys.readouterr().out
        assert "all 3 settings that were asked for are in effect" in told
        assert "changed by the engine itself: page_size became 256 (default: null)" in told
        kept = tmp_path / ".dsv4deploy/answers.json"
        (key,) = json.loads(kept.read_text())
        kept.write_text(json.dumps({key: {"short": "Lorem ipsum dolor sit amet", "long": "consectetur"}}))
        assert main([*words, "--only", "smoke", "--format", "json"]) == 0
        (one,) = json.loads(capsys.readouterr().out)["servers"]
        assert any("is another one than before" in note for note in one["notes"])
    assert main(["health", "--url", url, "--only", "endpoints"]) == 1
    assert main(["health", "--url", "ftp://x"]) == 2
