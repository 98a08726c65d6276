"""The process supervisor over ssh as a normal user of the nodes: no root, no systemd of ours, and the same faults."""

import json
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from ground import PORT, Ground, Unprivileged
from testbed import Fleet

pytestmark = pytest.mark.fleet

ONE = ("--limit", "gpu01")
CHANGED = ("--set", "memory.fraction_static=0.5")
SOON = ("--ansible-arg=-e", "--ansible-arg=dsv4_window_s=6")
SLOW = Unprivileged.profile(speed="1")


@pytest.fixture
def ops(whole_fleet: Fleet, tmp_path: Path) -> Iterator[Unprivileged]:
    one = Unprivileged(whole_fleet, tmp_path)
    yield one
    one.clean()


def until(running: subprocess.Popen[str], text: str) -> None:
    said = ""
    assert running.stdout
    for line in running.stdout:
        said += line
        if text in line:
            return
    raise AssertionError(said)


def announced(here: Path) -> bool:
    return (here / "unconfirmed").exists()


def sessions_end(ops: Ground) -> None:
    """Close every connection, as a person does who goes home."""
    ops.shell("pkill -u ops sshd; true")
    ops.eventually(lambda: ops.shell("pgrep -u ops sshd || true") == "")


def test_a_server_outlives_the_session_and_its_keeper_starts_it_again(ops: Unprivileged) -> None:
    ops.apply(*ONE)
    ops.serves(ops.release())
    pid = ops.pid()
    assert ops.shell(f"stat -c %U /proc/{pid}") == "ops"
    sessions_end(ops)
    assert "No changes" in ops.run("apply", *ONE)[1]
    assert (ops.pid(), ops.http()) == (pid, 200)
    ops.shell(f"kill -KILL {pid}")
    ops.eventually(lambda: ops.pid() != pid and ops.http() == 200)


@pytest.mark.parametrize("how", ["reboot", pytest.param("power cut", marks=pytest.mark.soak)])
def test_after_a_restart_of_the_node_status_says_what_to_do_and_start_does_it(ops: Unprivileged, how: str) -> None:
    old = ops.old_release()
    ops.write(SLOW)
    running = ops.begin("apply", "--yes", *ONE, alert=True)
    until(running, "started")
    ops.restart(how)
    out, _ = running.communicate(timeout=120)
    assert running.returncode in {4, 5, 6}, out
    code, out = ops.run("status", *ONE)
    if announced(ops.seen()):  # the controller may have come back in time to undo it
        assert (code, "nothing starts it again by itself" in out, f"goes back to {old[:12]}" in out) == (
            1,
            True,
            True,
        ), out
        assert ops.run("start", *ONE)[0] == 0
    ops.serves(old)


def test_a_full_disk_is_told_and_the_old_server_goes_on(ops: Unprivileged) -> None:
    ops.old_release()
    pid = ops.pid()
    ops.node().fill()
    code, out = ops.run("apply", "--yes", *ONE, *CHANGED)
    ops.node().unfill()
    assert (code, "free" in out) == (4, True), out
    assert (ops.pid(), ops.http()) == (pid, 200)


def test_a_disk_that_the_new_release_fills_does_not_keep_the_old_one_from_coming_back(ops: Unprivileged) -> None:
    old = ops.old_release()
    running = ops.begin("apply", "--yes", *ONE, "--set", "env.DSV4_REHEARSAL_FAIL=warmup-hang", *SOON)
    until(running, "started")
    ops.node().fill()
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, f"release {old[:12]} serves again" in out) == (5, True), out
    ops.node().unfill()
    ops.serves(old)


def test_a_port_taken_by_another_user_is_named_before_anything_is_touched(ops: Unprivileged) -> None:
    ops.shell(f"systemd-run -q --unit=squatter python3 -m http.server {PORT}")
    ops.eventually(lambda: ops.http(path="/") == 200)
    code, out = ops.run("apply", "--yes", *ONE)
    ops.shell("systemctl stop squatter")
    assert (code, f"port {PORT} is taken by a process of another user" in out) == (4, True), out
    assert not ops.seen().exists()


def test_an_old_process_that_refuses_to_die_is_ended(ops: Unprivileged) -> None:
    ops.write(ops.profile(stop_s=2))
    ops.apply(*ONE)
    pid = ops.pid()
    ops.shell(f"kill -STOP {pid}")
    ops.apply(*ONE, *CHANGED)
    assert ops.shell(f"test -e /proc/{pid} && echo there") == ""
    assert ops.http() == 200


def test_a_controller_that_dies_in_mid_switch_and_never_comes_back(ops: Unprivileged) -> None:
    old = ops.old_release()
    ops.write(SLOW)  # a node confirms by itself what is ready at once
    running = ops.begin("apply", "--yes", *ONE, *SOON)
    ops.frozen_when(running, announced)
    ops.kill(running)
    ops.node().freeze(on=False)
    ops.eventually(lambda: not announced(ops.seen()))
    ops.serves(old)
    assert json.loads(ops.shell(f"tail -1 {ops.here}/history"))["verb"] == "restored"


def test_a_power_cut_in_mid_switch_then_apply_again(ops: Unprivileged) -> None:
    ops.old_release()
    running = ops.begin("apply", "--yes", *ONE, *CHANGED, alert=True)
    ops.frozen_when(running, announced)
    ops.restart("power cut")
    out, _ = running.communicate(timeout=120)
    assert running.returncode == 4, out
    ops.apply(*ONE, *CHANGED)
    ops.serves(ops.release())
    assert "--mem-fraction-static" in ops.words()


def test_two_applies_at_once(ops: Unprivileged) -> None:
    ops.write(SLOW)
    first = ops.begin("apply", "--yes", *ONE)
    ops.when(first, announced)
    ops.signal(first, signal.SIGSTOP)
    code, out = ops.run("apply", "--yes", *ONE, *CHANGED)
    ops.signal(first, signal.SIGCONT)
    assert (code, "applies here since" in out) == (4, True), out
    said, _ = first.communicate(timeout=120)
    assert first.returncode == 0, said


def test_the_log_is_rotated_by_its_size_while_the_server_writes(ops: Unprivileged) -> None:
    ops.write(ops.profile(log_mib=1))
    ops.apply(*ONE)
    log = f"{ops.here}/run/server.log"
    for number in (1, 2, 3, 4, 5):
        ops.shell(f"echo mark-{number} >> {log}; head -c 1100000 /dev/zero | tr '\\0' x >> {log}")
        ops.eventually(lambda: int(ops.shell(f"stat -c %s {log}")) < 1_000_000)
    assert ops.shell(f"grep -oh mark-. {log}.1 {log}.2 {log}.3") == "mark-5\nmark-4\nmark-3"
    assert ops.shell(f"ls {ops.here}/run | grep -c server.log") == "4"
    ops.shell(f"curl -s localhost:{PORT}/health_generate")
    assert ops.http() == 200
