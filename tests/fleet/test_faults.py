"""What goes wrong on real machines: after each fault the old release serves, or the new one does, and one line says so."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from ground import PORT, Ground, profile, until

pytestmark = pytest.mark.fleet

ONE = ("--limit", "gpu01")
CHANGED = ("--set", "memory.fraction_static=0.5")
SLOW = profile(DSV4_REHEARSAL_SPEED="1")
SOON = ("--ansible-arg=-e", "--ansible-arg=dsv4_window_s=6")


def announced(here: Path) -> bool:
    """The trial has begun, and nothing has been stopped yet."""
    return (here / "unconfirmed").exists()


def moved_from(release: str) -> Callable[[Path], bool]:
    """The link shows another release, and nothing of it has been started yet."""
    return lambda here: (here / "current").readlink() != Path("releases", release)


# -- the release itself is bad


@pytest.mark.parametrize("failure", ["stream-capture-isolation", pytest.param("path-missing", marks=pytest.mark.soak)])
def test_a_unit_that_fails_gives_way_to_the_old_release(ground: Ground, failure: str) -> None:
    old = ground.old_release()
    code, out = ground.run("apply", "--yes", *ONE, "--set", f"env.DSV4_REHEARSAL_FAIL={failure}")
    assert (code, f"release {old[:12]} serves again" in out) == (5, True), out
    ground.serves(old)
    assert ground.shell("systemctl show -P Restart flash") == "on-failure"


def test_a_unit_that_fails_at_once_on_a_fresh_node_leaves_nothing(ground: Ground) -> None:
    code, out = ground.run("apply", "--yes", *ONE, "--set", "env.DSV4_REHEARSAL_FAIL=path-missing")
    assert (code, "nothing runs now" in out) == (5, True), out
    assert ground.shell("ls /etc/systemd/system/flash.service /opt/dsv4deploy/flash/current 2>/dev/null") == ""


def test_a_unit_that_never_gets_ready_is_given_up_in_time(ground: Ground) -> None:
    old = ground.old_release()
    never = ("--set", "env.DSV4_REHEARSAL_FAIL=warmup-hang", "--ansible-arg=-e", "--ansible-arg=dsv4_window_s=10")
    code, out = ground.run("apply", "--yes", *ONE, *never)
    assert (code, "not ready within the time" in out) == (5, True), out
    ground.serves(old)


def test_a_bad_canary_leaves_the_rest_of_the_fleet_alone(ground: Ground) -> None:
    ground.apply()
    pids = [ground.pid(node) for node in ("gpu02", "gpu03")]
    code, out = ground.run("apply", "--yes", "--set", "env.DSV4_REHEARSAL_FAIL=path-missing")
    assert (code, out.count("untouched")) == (5, 2), out
    assert [ground.pid(node) for node in ("gpu02", "gpu03")] == pids


# -- something stands in the way


def test_a_port_taken_by_another_process_is_named_before_anything_is_touched(ground: Ground) -> None:
    ground.shell(f"systemd-run -q --unit=squatter python3 -m http.server {PORT}")
    ground.eventually(lambda: ground.http(path="/") == 200)
    code, out = ground.run("apply", "--yes", *ONE)
    ground.shell("systemctl stop squatter")
    assert (code, f"port {PORT} is taken by pid" in out) == (4, True), out
    assert ground.shell("ls /opt/dsv4deploy 2>/dev/null") == ""


def test_somebody_elses_unit_is_not_overwritten(ground: Ground) -> None:
    ground.shell("printf '[Service]\\nExecStart=/bin/true\\n' > /etc/systemd/system/flash.service")
    code, out = ground.run("apply", "--yes", *ONE)
    assert (code, "--take-over" in out) == (4, True), out
    assert "ExecStart=/bin/true" in ground.shell("cat /etc/systemd/system/flash.service")
    ground.apply(*ONE, "--take-over")
    assert ground.http() == 200


def test_a_full_disk_is_told_and_the_old_server_goes_on(ground: Ground) -> None:
    old = ground.old_release()
    pid = ground.pid()
    ground.node().fill()
    code, out = ground.run("apply", "--yes", *ONE, *CHANGED)
    ground.node().unfill()
    assert code == 4, out
    assert "free" in out
    assert ground.pid() == pid
    ground.serves(old)
    ground.apply(*ONE, *CHANGED)
    assert "--mem-fraction-static" in ground.words()


def test_a_disk_that_the_new_release_fills_does_not_keep_the_old_one_from_coming_back(ground: Ground) -> None:
    old = ground.old_release()
    ground.write(SLOW)
    running = ground.begin("apply", "--yes", *ONE, "--set", "env.DSV4_REHEARSAL_FAIL=warmup-hang", *SOON)
    until(running, "started")
    ground.node().fill()
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, f"release {old[:12]} serves again" in out) == (5, True), out
    ground.node().unfill()
    ground.serves(old)


def test_a_read_only_root_is_told(ground: Ground) -> None:
    old = ground.old_release()
    each = "for d in etc home opt root usr var; do"
    ground.shell(f"{each} mount --bind /$d /$d && mount -o remount,bind,ro /$d; done")
    code, out = ground.run("apply", "--yes", *ONE, *CHANGED)
    ground.shell(f"{each} umount -l /$d; done")
    assert (code, "cannot be written" in out or "read-only" in out) == (4, True), out
    ground.serves(old)


def test_a_node_without_python_is_told(ground: Ground) -> None:
    inventory = ground.folder / "gpu.ini"
    inventory.write_text(ground.fleet.inventory.read_text().replace("/usr/bin/python3", "/opt/none/python3"))
    code, out = ground.run("apply", "--yes", *ONE, inventory=inventory)
    assert (code, "there is no /opt/none/python3 on this node" in out) == (4, True), out


def test_no_sudo(ground: Ground) -> None:
    inventory = ground.folder / "ops.ini"
    inventory.write_text(ground.fleet.inventory.read_text().replace("ansible_user=root", "ansible_user=ops"))
    ground.shell("mv /etc/sudoers.d/ops /root/ops")
    code, out = ground.run("apply", "--yes", "--become", *ONE, inventory=inventory)
    ground.shell("mv /root/ops /etc/sudoers.d/ops")
    assert (code, "--ask-become-pass" in out) == (4, True), out


def test_a_changed_host_key_is_refused(ground: Ground) -> None:
    keys = "cd /etc/ssh && mkdir keep && mv ssh_host_ed25519_key* keep && ssh-keygen -q -t ed25519 -N '' -f ssh_host_ed25519_key"
    ground.shell(f"{keys} && systemctl restart ssh")
    code, out = ground.run("plan", ANSIBLE_SSH_ARGS="-o ControlMaster=no -o ControlPath=none")
    ground.shell("cd /etc/ssh && mv -f keep/* . && rmdir keep && systemctl restart ssh")
    assert (code, "host key is not the one that is known" in out) == (4, True), out
    assert "gpu02  flash  release" in out


def test_an_old_process_that_refuses_to_die_is_ended(ground: Ground) -> None:
    ground.write(SLOW + "\n")
    ground.apply(*ONE, "--set", "service.timeouts.stop_s=2")
    pid = ground.pid()
    ground.shell(f"kill -STOP {pid}")
    ground.apply(*ONE, *CHANGED)
    assert ground.shell(f"test -e /proc/{pid} && echo there") == ""
    assert ground.http() == 200


# -- the connection goes away


@pytest.mark.parametrize("silent", [False, True])
def test_a_node_that_cannot_be_reached_does_not_hold_up_the_others(ground: Ground, silent: bool) -> None:
    ground.node("gpu02").cut(silent=silent)
    code, out = ground.run("apply", "--yes", alert=True)
    assert (code, "gpu02  flash  unreachable: cannot be reached" in out) == (4, True), out
    assert (ground.http("gpu01"), ground.http("gpu03")) == (200, 200)


def test_ssh_cut_in_mid_upload(ground: Ground) -> None:
    old = ground.old_release()
    pid = ground.pid()
    running = ground.begin("apply", "--yes", *ONE, *CHANGED, alert=True)
    until(running, "to change")
    ground.node().slow("60kbit")
    time.sleep(1.5)
    ground.node().cut(silent=True)
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, "goes back by itself unless it is applied again" in out) == (4, True), out
    ground.node().heal()
    assert ground.pid() == pid
    ground.serves(old)
    ground.apply(*ONE, *CHANGED)
    assert "--mem-fraction-static" in ground.words()


def test_ssh_cut_as_the_switch_begins_and_nobody_comes_back(ground: Ground) -> None:
    old = ground.old_release()
    ground.write(SLOW)  # a node confirms by itself what is ready at once
    running = ground.begin("apply", "--yes", *ONE, *SOON, alert=True)
    ground.frozen_when(running, announced)
    ground.node().cut(silent=True)
    ground.node().freeze(on=False)
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, "goes back by itself unless it is applied again" in out) == (4, True), out
    ground.eventually(lambda: not announced(ground.seen()))
    ground.node().heal()
    ground.serves(old)


def test_ssh_cut_in_mid_switch_then_apply_again(ground: Ground) -> None:
    old = ground.old_release()
    running = ground.begin("apply", "--yes", *ONE, *CHANGED, alert=True)
    ground.frozen_when(running, moved_from(old))
    ground.node().cut(silent=True)
    ground.node().freeze(on=False)
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, "goes back by itself unless it is applied again" in out) == (4, True), out
    ground.node().heal()
    ground.apply(*ONE, *CHANGED)
    ground.serves(ground.release())
    assert "--mem-fraction-static" in ground.words()


def test_ssh_cut_after_the_switch_and_healed_then_apply_again(ground: Ground) -> None:
    ground.old_release()
    ground.write(SLOW)
    running = ground.begin("apply", "--yes", *ONE, alert=True)
    until(running, "started")
    ground.node().cut(silent=True)
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, "goes back by itself" in out) == (4, True), out
    ground.node().heal()
    ground.apply(*ONE)
    ground.serves(ground.release())
    assert ground.environ()["DSV4_REHEARSAL_SPEED"] == "1"


# -- the controller goes away

Moment = Callable[[Ground, subprocess.Popen[str]], None]


def said(text: str) -> Moment:
    def wait(_: Ground, running: subprocess.Popen[str]) -> None:
        until(running, text)

    return wait


def renewed(name: str) -> Moment:
    """The file or link of that name is another one than before."""

    def wait(ground: Ground, running: subprocess.Popen[str]) -> None:
        path = ground.seen() / name
        before = path.lstat().st_ino if os.path.lexists(path) else None
        while not os.path.lexists(path) or path.lstat().st_ino == before:
            assert running.poll() is None, running.communicate()[0]
            time.sleep(0.001)

    return wait


def unpacking(ground: Ground, running: subprocess.Popen[str]) -> None:
    """A folder has come whose name says that it is not whole yet, or is whole by now."""
    releases = ground.seen() / "releases"
    before = set(releases.iterdir())
    while set(releases.iterdir()) <= before:
        assert running.poll() is None, running.communicate()[0]


def unpacked(ground: Ground, running: subprocess.Popen[str]) -> None:
    whole = set(ground.seen().glob("releases/[0-9a-f]*"))
    while set(ground.seen().glob("releases/[0-9a-f]*")) <= whole:
        assert running.poll() is None, running.communicate()[0]


def confirmed(ground: Ground, running: subprocess.Popen[str]) -> None:
    renewed("judging")(ground, running)
    while announced(ground.seen()):
        assert running.poll() is None, running.communicate()[0]


MOMENTS: dict[str, Moment] = {
    "reading the inventory": lambda *_: time.sleep(0.5),
    "planned": said("to change"),
    "unpacking": unpacking,
    "unpacked": unpacked,
    "announced": renewed("unconfirmed"),
    "linked": renewed("current"),
    "started": renewed("started"),
    "judging": renewed("judging"),
    "confirmed": confirmed,
    "told": said("ready after"),
}


def test_a_controller_killed_at_ten_moments_then_apply_again(ground: Ground) -> None:
    old = ground.old_release()
    pid = ground.pid()
    for number, (moment, comes) in enumerate(MOMENTS.items(), 101):
        change = ("--set", f"cuda_graph.decode.max_bs={number}")
        running = ground.begin("apply", "--yes", *ONE, *change)
        comes(ground, running)
        ground.kill(running)
        assert (ground.seen() / "releases" / ground.release() / "manifest.json").exists(), moment
        assert number > 103 or (ground.pid(), ground.release(), ground.http()) == (pid, old, 200), moment
    ground.apply(*ONE, *change)
    assert str(number) in ground.words()
    ground.serves(ground.release())


def test_a_controller_that_never_comes_back(ground: Ground) -> None:
    old = ground.old_release()
    ground.write(SLOW)
    running = ground.begin("apply", "--yes", *ONE, "--ansible-arg=-e", "--ansible-arg=dsv4_window_s=4")
    until(running, "started")
    ground.kill(running)
    ground.eventually(lambda: ground.shell("test -e /opt/dsv4deploy/flash/unconfirmed || echo over") == "over")
    ground.serves(old)
    assert "nobody confirmed" in ground.shell("tail -1 /opt/dsv4deploy/flash/history") or "overdue" in ground.shell(
        "tail -1 /opt/dsv4deploy/flash/history"
    )


def test_two_applies_at_once(ground: Ground) -> None:
    ground.old_release()
    ground.write(SLOW)  # longer than the first look, so that the first one is still judging
    first = ground.begin("apply", "--yes", *ONE)
    ground.when(first, announced)
    ground.signal(first, signal.SIGSTOP)
    code, out = ground.run("apply", "--yes", *ONE, *CHANGED)
    ground.signal(first, signal.SIGCONT)
    assert (code, "applies here since" in out) == (4, True), out
    said, _ = first.communicate(timeout=120)
    assert first.returncode == 0, said
    assert "--mem-fraction-static" not in ground.words()


# -- the node goes away


@pytest.mark.parametrize("how", [pytest.param("reboot", marks=pytest.mark.soak), "power cut"])
def test_a_node_that_restarts_in_mid_upload_serves_its_old_release(ground: Ground, how: str) -> None:
    old = ground.old_release()
    running = ground.begin("apply", "--yes", *ONE, *CHANGED, alert=True)
    until(running, "to change")
    ground.node().slow("60kbit")
    time.sleep(1)
    ground.restart(how)
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, "goes back by itself unless it is applied again" in out) == (4, True), out
    ground.node().heal()
    ground.serves(old)
    ground.apply(*ONE, *CHANGED)
    assert "--mem-fraction-static" in ground.words()


@pytest.mark.parametrize("moment", [pytest.param("announced", marks=pytest.mark.soak), "linked"])
def test_a_power_cut_in_mid_switch_has_the_old_release_back(ground: Ground, moment: str) -> None:
    old = ground.old_release()
    running = ground.begin("apply", "--yes", *ONE, *CHANGED, alert=True)
    ground.frozen_when(running, announced if moment == "announced" else moved_from(old))
    ground.restart("power cut")
    out, _ = running.communicate(timeout=120)
    assert (running.returncode, "goes back by itself" in out) == (4, True), out
    ground.serves(old)


@pytest.mark.parametrize("how", ["reboot", pytest.param("power cut", marks=pytest.mark.soak)])
def test_a_node_that_restarts_during_the_judged_start_has_its_old_release_back(ground: Ground, how: str) -> None:
    old = ground.old_release()
    ground.write(SLOW)
    running = ground.begin("apply", "--yes", *ONE, alert=True)
    until(running, "started")
    ground.restart(how)
    out, _ = running.communicate(timeout=120)
    assert running.returncode in {4, 5}, out
    ground.serves(old)
    ground.apply(*ONE)
    assert ground.environ()["DSV4_REHEARSAL_SPEED"] == "1"


def test_a_confirmed_release_survives_a_reboot_and_a_crash_of_the_server(ground: Ground) -> None:
    release = ground.old_release()
    node = ground.node()
    node.wait(old_leader=node.reboot())
    ground.serves(release)
    assert "No changes" in ground.run("apply", *ONE)[1]
    node.kill_unit("flash.service")
    ground.eventually(lambda: ground.http() == 200 and ground.shell("systemctl show -P NRestarts flash") == "1", 40)


def test_no_secret_is_seen_anywhere(ground: Ground, tmp_path: Path) -> None:
    secret = "canary-7f3a91c2"  # noqa: S105 (its only use is to be looked for)
    ground.shell(f"install -m 600 /dev/null /root/key && printf {secret} > /root/key")
    ground.write(profile().replace("server: {", "server: {api_key_file: /root/key, "))
    code, out = ground.run("apply", "--yes", *ONE, "--format", "json")
    assert code == 0, out
    assert secret not in out
    for path in tmp_path.rglob("*"):
        assert not path.is_file() or secret not in path.read_text(errors="replace"), path
    places = "/opt/dsv4deploy /etc/systemd/system /tmp /var/tmp /var/log"
    assert ground.shell(f"grep -rl {secret} {places} 2>/dev/null; journalctl --no-pager | grep -c {secret}") == "0"
    seen = "cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null"
    assert ground.shell(f"({seen}) | grep -a -c '[c]{secret[1:]}'") == "0"
