"""Apply on real systemd nodes over real ssh, seen on the nodes themselves."""

import json
import signal

import pytest
from bed_host import sh
from ground import COMMAND, Ground, profile, until

pytestmark = pytest.mark.fleet


def test_a_fresh_fleet_is_served_and_a_second_apply_changes_nothing(ground: Ground) -> None:
    out = ground.apply()
    assert "3 applied, 0 failed" in out
    for node in ("gpu01", "gpu02", "gpu03"):
        assert ground.http(node) == 200
        assert (
            ground.shell("systemctl is-enabled flash; systemctl show -P Restart flash", node) == "enabled\non-failure"
        )
        assert ground.words(node)[-2:] == ["--port", "30000"]
        assert ground.environ(node)["DSV4_REHEARSAL_SPEED"] == "20"
    pids = [ground.pid(node.name) for node in ground.nodes]
    stamps = ground.shell(
        "find /opt/dsv4deploy /etc/systemd/system -type f -name '[!l]*' -printf '%i %T@ %p\\n' | sort"
    )
    code, out = ground.run("apply")
    assert (code, "No changes. 3 nodes run release" in out) == (0, True), out
    assert [ground.pid(node.name) for node in ground.nodes] == pids
    assert (
        ground.shell("find /opt/dsv4deploy /etc/systemd/system -type f -name '[!l]*' -printf '%i %T@ %p\\n' | sort")
        == stamps
    )


def test_one_flag_changed_is_exactly_that_diff_and_one_restart_and_can_be_rolled_back(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    first, pid = ground.release(), ground.pid()
    started = int(ground.shell("journalctl -u flash -o cat | grep -c 'Started flash'"))
    code, out = ground.run("plan", "--limit", "gpu01", "--set", "memory.fraction_static=0.5", "--detailed-exitcode")
    assert code == 10, out
    assert [line.strip() for line in out.splitlines() if line.startswith(("  +", "  -"))] == [
        "+ argument --mem-fraction-static 0.5"
    ]
    assert (ground.release(), ground.pid()) == (first, pid)
    ground.apply("--limit", "gpu01", "--set", "memory.fraction_static=0.5")
    assert "--mem-fraction-static" in ground.words()
    assert ground.shell("systemctl show -P NRestarts flash") == "0"
    assert int(ground.shell("journalctl -u flash -o cat | grep -c 'Started flash'")) == started + 1
    code, out = ground.run("rollback", "--yes", "--limit", "gpu01")
    assert code == 0, out
    assert "--mem-fraction-static" not in ground.words()
    ground.serves(first)


def test_a_server_is_not_restarted_without_a_yes(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    pid = ground.pid()
    code, out = ground.run("apply", "--limit", "gpu01", "--set", "memory.fraction_static=0.5")
    assert (code, "--yes" in out, ground.pid()) == (2, True, pid)


def test_a_hand_edit_is_shown_and_repaired(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    pid = ground.pid()
    ground.shell(
        "echo '# x' >> /opt/dsv4deploy/flash/current/nccl.env; echo '# x' >> /etc/systemd/system/flash.service"
    )
    _, out = ground.run("plan", "--limit", "gpu01")
    assert "nccl.env: edited" in out
    assert "/etc/systemd/system/flash.service: edited" in out
    assert "in place, no restart" in out
    ground.apply("--limit", "gpu01")
    assert "No changes" in ground.run("plan", "--limit", "gpu01")[1]
    assert ground.shell("grep -c '# x' /etc/systemd/system/flash.service") == "0"
    assert ground.shell("systemctl show -P NeedDaemonReload flash") == "no"
    assert ground.pid() == pid


def test_another_health_check_takes_no_start(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    pid, release = ground.pid(), ground.release()
    ground.write(profile() + "health: {endpoints: [/nowhere]}\n")
    out = ground.apply("--limit", "gpu01")
    assert "in place, no restart" in out
    assert "changed in place: what runs goes on" in out
    assert "To undo" not in out
    assert 'health.endpoints: nothing -> ["/nowhere"]' in out
    assert "No changes" in ground.run("plan", "--limit", "gpu01")[1]
    assert (ground.pid(), ground.release()) == (pid, release)
    assert "/nowhere answered 404" in ground.run("health", "--limit", "gpu01", "--only", "endpoints", "--no-mark")[1]


def test_a_process_that_is_not_what_the_files_say_is_restarted(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    ground.shell("sed -i s/30000/30005/ /opt/dsv4deploy/flash/current/serve.sh && systemctl restart flash")
    _, out = ground.run("plan", "--limit", "gpu01")
    assert "what runs is not what the files say" in out, out
    ground.apply("--limit", "gpu01")
    assert ground.words()[-1] == "30000"
    assert ground.http() == 200


def test_two_profiles_on_one_node(ground: Ground) -> None:
    ground.write(profile("pearl", 31000), "pearl.yaml")
    inventory = ground.folder / "gpu.ini"
    given = ground.fleet.inventory.read_text()
    inventory.write_text(given.replace("gpu01 ", "gpu01 dsv4_profile=\"['profile.yaml','pearl.yaml']\" "))
    code, out = ground.run("apply", "--yes", "--limit", "gpu01", inventory=inventory)
    assert code == 0, out
    assert (ground.http(), ground.http(port=31000)) == (200, 200)
    ground.write(profile("pearl", 30000), "pearl.yaml")
    code, out = ground.run("plan", "--limit", "gpu01", inventory=inventory)
    assert (code, "flash and pearl both take port 30000" in out) == (1, True), out


def test_a_known_bad_profile_touches_no_node(ground: Ground) -> None:
    ground.write(profile() + "surprise: 1\n")
    code, out = ground.run("apply", "--yes")
    assert (code, "surprise" in out) == (1, True), out
    assert ground.shell("ls /opt/dsv4deploy 2>/dev/null") == ""


def test_a_plan_that_was_kept_is_applied_exactly_or_not_at_all(ground: Ground) -> None:
    assert ground.run("plan", "--limit", "gpu01", "-o", "kept.json")[0] == 0
    ground.apply("--plan", "kept.json", "--limit", "gpu01")
    assert ground.http() == 200
    code, out = ground.run("apply", "--yes", "--plan", "kept.json", "--limit", "gpu01")
    assert (code, "moved since the plan" in out) == (4, True), out


def test_every_apply_is_written_down(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    (record,) = (ground.folder / ".dsv4deploy/applies").glob("*.jsonl")
    entries = [json.loads(line) for line in record.read_text().splitlines()]
    assert entries[0]["schema"] == "record/1"
    assert [entry["step"] for entry in entries if entry.get("step")] == ["stage", "switch", "wait"]
    assert entries[-1]["outcomes"][0]["end"] == "applied"
    assert ground.shell("grep -c confirmed /opt/dsv4deploy/flash/history") == "1"


def test_operating_a_server(ground: Ground) -> None:
    ground.apply("--limit", "gpu01")
    assert ground.run("stop", "--limit", "gpu01")[0] == 0
    assert ground.shell("systemctl is-active flash; pgrep -f [l]aunch_server") == "inactive"
    assert ground.run("status", "--limit", "gpu01")[0] == 1
    assert ground.run("start", "--limit", "gpu01")[0] == 0
    ground.eventually(lambda: ground.http() == 200)
    pid = ground.pid()
    assert ground.run("restart", "--limit", "gpu01")[0] == 0
    assert ground.pid() != pid
    _, out = ground.run("logs", "--limit", "gpu01", "-n", "5")
    assert len(out.splitlines()) == 5
    assert "confirmed" in ground.run("history", "--limit", "gpu01")[1]


def test_a_normal_user_becomes_root(ground: Ground) -> None:
    inventory = ground.folder / "ops.ini"
    inventory.write_text(ground.fleet.inventory.read_text().replace("ansible_user=root", "ansible_user=ops"))
    code, out = ground.run("apply", "--yes", "--limit", "gpu01", inventory=inventory)
    assert (code, "use --become" in out) == (4, True), out
    code, out = ground.run("apply", "--yes", "--limit", "gpu01", "--become", inventory=inventory)
    assert code == 0, out
    assert ground.http() == 200


def test_a_model_on_the_node_decides_what_was_unknown_before(ground: Ground) -> None:
    config = '{"model_type": "llama", "num_attention_heads": 6, "num_key_value_heads": 6}'
    ground.shell(f"mkdir -p /models/none && echo '{config}' > /models/none/config.json")
    code, out = ground.run("plan", "--limit", "gpu01,gpu02")
    ground.shell("rm -r /models")
    assert (code, "gpu01  flash  refuse" in out, "6" in out, "gpu02  flash  release" in out) == (4, True, True, True), (
        out
    )


def test_a_user_whose_sudo_asks_for_a_password(ground: Ground) -> None:
    password = "canary-1d52c8"  # noqa: S105 (its only use is to be looked for)
    inventory = ground.folder / "ops.ini"
    inventory.write_text(ground.fleet.inventory.read_text().replace("ansible_user=root", "ansible_user=ops"))
    ground.shell(f"echo ops:{password} | chpasswd && sed -i 's/NOPASSWD: //' /etc/sudoers.d/ops")
    words = ("apply", "--yes", "--limit", "gpu01", "--ask-become-pass")
    code, out = ground.asked("sudo password: ", password, *words, inventory=inventory)
    ground.shell("sed -i 's/(ALL) ALL/(ALL) NOPASSWD: ALL/' /etc/sudoers.d/ops")
    assert (code, "sudo password" in out, password in out) == (0, False, False), out
    assert ground.http() == 200
    assert not [path for path in ground.folder.rglob("*") if path.is_file() and password in path.read_text("utf-8")]
    assert ground.shell(f"journalctl --no-pager | grep -c {password}") == "0"


def test_a_node_behind_a_jump_host_whose_sudo_password_is_in_a_vault(ground: Ground) -> None:
    password, key = "canary-77e0b1", ground.folder / "key"
    fleet, nodes = ground.fleet, ground.folder / "nodes"
    key.write_text("opens the vault")
    (ground.folder / "ssh").write_text(
        f"Host *\n  UserKnownHostsFile {fleet.dir}/known_hosts\n  IdentityFile {fleet.dir}/id_ed25519\n"
        f"Host jump\n  User root\n  HostName {ground.node('gpu01').ip}\n"
        f"Host {ground.node('gpu02').ip}\n  ProxyJump jump\n"
    )
    (nodes / "group_vars").mkdir(parents=True)
    (nodes / "hosts.ini").write_text(f"[gpu]\ngpu02 ansible_host={ground.node('gpu02').ip}\n")
    sealed = sh(
        *(COMMAND.with_name("ansible-vault"), "encrypt_string", "--vault-password-file", key, password),
        *("--name", "ansible_become_password"),
    ).stdout
    (nodes / "group_vars/gpu.yml").write_text(
        f"ansible_user: ops\nansible_become: true\nansible_ssh_common_args: -F {ground.folder}/ssh\n{sealed}\n"
    )
    ground.shell(f"echo ops:{password} | chpasswd && sed -i 's/NOPASSWD: //' /etc/sudoers.d/ops", "gpu02")
    direct = ("ip", "-n", fleet.name, "route")
    sh(*direct, "add", "blackhole", f"{ground.node('gpu02').ip}/32")
    try:
        code, closed = ground.run("status", inventory=nodes)
        assert (code, "a variable is encrypted" in closed) == (4, True), closed
        code, out = ground.run("apply", "--yes", "--vault-password-file", str(key), inventory=nodes)
    finally:
        sh(*direct, "del", "blackhole", f"{ground.node('gpu02').ip}/32")
        ground.shell("sed -i 's/(ALL) ALL/(ALL) NOPASSWD: ALL/' /etc/sudoers.d/ops", "gpu02")
    assert (code, password in out) == (0, False), out
    assert ground.http("gpu02") == 200
    assert not [path for path in ground.folder.rglob("*") if path.is_file() and password in path.read_text("utf-8")]


def test_logs_are_followed_and_a_lost_node_is_told(ground: Ground) -> None:
    two = ("--limit", "gpu01,gpu02")
    ground.apply(*two)
    running = ground.begin("logs", "-f", "-n", "3", *two)
    until(running, "gpu02  ")
    ground.http("gpu01", path="/once")
    until(running, "/once")
    ground.http("gpu01", path="/twice")
    assert "/once" not in until(running, "/twice")
    ground.node("gpu02").cut()
    until(running, "gpu02  lost: cannot be reached")
    ground.http("gpu01", path="/here-i-am")
    until(running, "/here-i-am")
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert (running.returncode, "Traceback" in out) == (4, False), out
