"""From one release to the next and back, seen in the kernel's own account of what runs."""

import json
import os
import random
import re
import signal
import socket
import subprocess
import time
import urllib.request
from collections.abc import Callable
from pathlib import Path

import bundles
import pytest
from belongings import free_port
from local_node import Node

from dsv4deploy.node.process import Log

Until = Callable[..., None]


def test_a_release_runs_as_written_and_again_changes_nothing(node: Node) -> None:
    digest = node.apply()
    pid = node.do("status")["running"]["pid"]
    with urllib.request.urlopen(f"http://127.0.0.1:{node.port}/", timeout=5) as answer:
        assert json.load(answer)["color"] == "red"
    again = node.do("switch", digest=digest)
    assert (again["changed"], again["judging"]) == (False, False)
    status = node.do("status")
    assert (status["running"]["pid"], status["running"]["as_written"], status["pending"]) == (pid, True, None)


def test_a_release_that_never_gets_ready_gives_way_to_the_one_before(node: Node) -> None:
    first = node.apply("one")
    second = node.install("two", environment={"COLOR": "green"}, start_timeout_s=1)
    node.do("switch", digest=second)
    (node.folder / "mark").touch()
    assert node.flag() == "two"
    assert node.do("restore")["to"] == first
    assert node.do("wait", limit_s=10)["state"] == "ready"
    assert (node.flag(), node.do("status")["pending"]) == ("one", None)


def test_a_process_that_ends_is_a_failure_with_its_last_lines(node: Node) -> None:
    manifest = bundles.bundle(node.folder / "bad", port=node.port, words=("--mode", "exit"))
    node.do("install", bundles.archive(node.folder / "bad"))
    node.do("switch", digest=manifest["digest"])
    answer = node.do("wait", limit_s=10, confirm=True)
    assert (answer["state"], answer["exit_code"]) == ("failed", 3)
    assert "RuntimeError: told to fail" in answer["lines"]
    node.do("restore")
    assert not (node.here / "current").exists()


def test_the_node_restores_itself_when_nobody_confirms(node: Node, eventually: Until) -> None:
    node.apply("one")
    second = node.install("two")
    node.do("switch", digest=second, window_s=1)
    eventually(lambda: not (node.here / "unconfirmed").exists())
    assert (node.flag(), node.do("history")["history"][-1]["verb"]) == ("one", "restored")


def test_a_trial_from_before_a_reboot_is_ended_by_the_next_run(node: Node) -> None:
    node.apply("one")
    second = node.install("two")
    node.do("switch", digest=second)
    trial = json.loads((node.here / "unconfirmed").read_text())
    (node.here / "unconfirmed").write_text(json.dumps({**trial, "boot_id": "another"}))
    node.do("start")
    assert node.flag() == "one"


def test_a_switch_killed_anywhere_leaves_the_old_or_the_new_and_the_next_one_goes_on(node: Node) -> None:
    first = node.apply("one")
    second = node.install("two")
    moments = random.Random(7)  # noqa: S311 (a repeatable choice of moments, no secret)
    for _ in range(8):
        run = node.begin("switch", digest=second)
        time.sleep(moments.uniform(0.02, 0.6))
        run.send_signal(signal.SIGKILL)
        run.communicate()
        link = node.here / "current"
        assert link.resolve().name in {first, second}
        assert (link / "manifest.json").exists()
        node.do("switch", digest=second)
        assert node.do("wait", limit_s=10)["state"] == "ready"
        assert node.flag() == "two"
        assert node.do("restore")["to"] == first
        assert node.do("wait", limit_s=10)["state"] == "ready"
        assert node.flag() == "one"


def test_a_port_taken_by_a_stranger_is_named_and_nothing_is_touched(node: Node) -> None:
    node.apply("one")
    with socket.socket() as stranger:
        stranger.bind(("127.0.0.1", 0))
        stranger.listen()
        port = stranger.getsockname()[1]
        manifest = bundles.bundle(node.folder / "two", port=port)
        problems = node.do("preflight", manifest=manifest)["problems"]
        assert f"port {port} is taken by pid {os.getpid()}" in problems[0]["message"]
        node.do("install", bundles.archive(node.folder / "two"))
        assert node.ask("switch", digest=manifest["digest"])["error"]["word"] == "port-taken"
    assert node.do("wait", limit_s=10)["state"] == "ready"
    assert node.flag() == "one"


def test_a_process_that_refuses_to_die_is_ended_with_all_its_children(node: Node) -> None:
    node.port = free_port()
    manifest = bundles.bundle(node.folder / "one", port=node.port, words=("--mode", "stubborn"), stop_timeout_s=0.5)
    node.do("install", bundles.archive(node.folder / "one"))
    node.do("switch", digest=manifest["digest"])
    pid = node.do("wait", limit_s=10, confirm=True)["pid"]
    children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True, check=True)
    node.do("stop")
    for one in [pid, *map(int, children.stdout.split())]:
        stat = Path(f"/proc/{one}/stat")
        assert not stat.exists() or ") Z " in stat.read_text()


def test_the_keeper_starts_a_confirmed_server_again_but_not_one_on_trial(node: Node, eventually: Until) -> None:
    node.apply("one")
    pid = node.do("status")["running"]["pid"]
    os.kill(pid, signal.SIGKILL)
    eventually(lambda: (node.do("status")["running"] or {}).get("pid", pid) != pid)
    assert node.flag() == "one"
    assert node.do("status")["unit"]["restarts"] == 1
    second = node.install("two")
    node.do("switch", digest=second)
    os.kill(node.do("wait", limit_s=10)["pid"], signal.SIGKILL)
    assert node.do("wait", limit_s=5)["state"] == "failed"


def test_one_apply_at_a_time(node: Node) -> None:
    first = node.install("one")
    mine = {"token": "a", "who": "anna"}
    node.do("switch", digest=first, holder=mine)
    refused = node.ask("switch", digest=first, holder={"token": "b", "who": "bert"})["error"]
    assert (refused["word"], "anna" in refused["message"]) == ("locked", True)
    assert node.do("switch", digest=first, holder={"token": "b", "who": "bert", "gone": ["a"]})["judging"] is True


def test_a_plan_that_is_out_of_date_is_refused(node: Node) -> None:
    node.apply("one")
    second = node.install("two")
    assert node.ask("switch", digest=second, expect="0" * 64)["error"]["word"] == "moved"
    assert node.flag() == "one"


@pytest.mark.parametrize("prefix", [None, 8])
def test_rollback_goes_back_to_what_was_healthy(node: Node, prefix: int | None) -> None:
    first = node.apply("one")
    node.apply("two")
    node.do("rollback", digest=first[:prefix] if prefix else None)
    assert node.do("wait", limit_s=10, confirm=True)["state"] == "ready"
    assert node.flag() == "one"


def test_without_an_earlier_release_there_is_no_rollback(node: Node) -> None:
    node.apply("one")
    assert node.ask("rollback")["error"]["word"] == "no-release"


def test_going_back_to_what_runs_changes_nothing_and_keeps_nobody_else_away(node: Node) -> None:
    first = node.apply("one")
    pid = node.do("status")["running"]["pid"]
    assert node.do("rollback", digest=first, holder={"token": "a", "who": "anna"})["changed"] is False
    status = node.do("status")
    assert (status["running"]["pid"], status["lock"], status["earlier"]) == (pid, None, None)
    second = node.apply("two")
    assert (node.do("status")["current"], node.do("status")["earlier"]) == (second, first)


def test_an_environment_file_that_was_edited_since_the_start_is_drift_until_the_server_is_restarted(node: Node) -> None:
    settings = node.folder / "nccl.env"
    settings.write_text("export NCCL_DEBUG=WARN\n", encoding="utf-8")
    digest = node.apply(env_file=str(settings))
    assert (node.do("status")["drift"], node.do("status")["running"]["as_written"]) == ([], True)
    settings.write_text("export NCCL_DEBUG=INFO\n", encoding="utf-8")
    edited = node.do("status")
    assert edited["drift"] == [{"path": str(settings), "what": "edited"}]
    assert edited["running"]["as_written"] is False
    assert node.do("switch", digest=digest, restart=True)["changed"]
    assert node.do("wait", limit_s=10)["state"] == "ready"
    assert (node.do("status")["drift"], node.do("status")["running"]["as_written"]) == ([], True)
    settings.unlink()
    assert node.do("status")["drift"] == [{"path": str(settings), "what": "missing"}]


def test_a_release_that_comes_back_is_held_to_the_file_with_which_it_came_back(node: Node) -> None:
    settings = node.folder / "nccl.env"
    settings.write_text("export NCCL_DEBUG=WARN\n", encoding="utf-8")
    node.apply("one", env_file=str(settings))
    settings.write_text("export NCCL_DEBUG=INFO\n", encoding="utf-8")
    node.do("switch", digest=node.install("two", env_file=str(settings)))
    node.do("restore")
    assert (node.flag(), node.do("status")["drift"]) == ("one", [])


def test_the_log_is_rotated_by_its_size_and_the_oldest_goes(tmp_path: Path) -> None:
    log = Log(tmp_path / "server.log", 10, 2)
    for text in ("first log of all", "second log of all", "third log of all", "short"):
        log.path.write_text(text)
        log.rotate()
    assert {one.name: one.read_text() for one in tmp_path.iterdir()} == {
        "server.log": "short",
        "server.log.1": "third log of all",
        "server.log.2": "second log of all",
    }


def test_a_log_of_which_nothing_is_to_be_kept_is_emptied(tmp_path: Path) -> None:
    log = Log(tmp_path / "server.log", 10, 0)
    log.path.write_text("first log of all")
    log.rotate()
    assert [(one.name, one.read_text()) for one in tmp_path.iterdir()] == [("server.log", "")]


def test_the_server_has_the_limits_and_the_log_file_that_its_release_asks_for(node: Node) -> None:
    log = node.folder / "engine.log"
    manifest = bundles.bundle(node.folder / "one", port=node.port)
    path = node.folder / "one/manifest.json"
    manifest["service"] |= {"limits": {"nofile": 300, "memlock": "infinity"}, "log": str(log)}
    path.write_text(json.dumps(manifest))
    node.do("install", bundles.archive(node.folder / "one"))
    node.do("switch", digest=manifest["digest"])
    answer = node.do("wait", limit_s=10, confirm=True)
    assert answer["state"] == "ready", answer
    limits = Path(f"/proc/{answer['pid']}/limits").read_text()
    assert re.search(r"^Max open files +300 +300 ", limits, re.MULTILINE), limits
    assert "ready to roll" in log.read_text()
    assert "ready to roll" in "\n".join(node.do("logs")["lines"])


def test_a_server_is_not_started_on_what_another_one_of_ours_uses(node: Node) -> None:
    first = node.apply("one")
    second = node.install("two")
    node.do("stop")
    other = bundles.bundle(node.folder / "other", name="pearl", port=node.port)
    node.do("install", bundles.archive(node.folder / "other"), name="pearl")
    node.do("switch", name="pearl", digest=other["digest"])
    assert node.do("wait", name="pearl", limit_s=10, confirm=True)["state"] == "ready"
    for verb, digest in (("start", None), ("restart", None), ("rollback", first), ("switch", second)):
        refused = node.ask(verb, digest=digest)["error"]
        assert (refused["word"], refused["remedy"]) == ("neighbours", "dsv4deploy stop --name pearl, or choose others")
    assert node.do("status", name="pearl")["running"]
    node.do("stop", name="pearl")
    assert node.do("start")["changed"] is True
