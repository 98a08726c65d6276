"""The whole loop on this machine: local connection, process supervisor, rehearsal engine; no root and no ssh needed."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pexpect  # type: ignore[import-untyped]  # (it comes with ansible-runner, without types)
import pytest
from desk import BIN, INVENTORY, Desk

CHANGED = ("--set", "memory.fraction_static=0.5")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    one = Desk(tmp_path)
    yield one
    one.wipe()


def test_the_whole_loop(desk: Desk) -> None:
    code, out = desk.run("plan")
    assert (code, "first start" in out) == (0, True), out
    assert desk.run("apply")[0] == 0
    pid, words = desk.process()
    assert words[-1] == str(desk.port)
    code, out = desk.run("apply")
    assert (code, "No changes" in out, desk.process()[0]) == (0, True, pid), out
    code, out = desk.run("status")
    assert (code, "ready" in out) == (0, True), out
    code, out = desk.run("apply", "--yes", "--set", "env.DSV4_REHEARSAL_FAIL=path-missing")
    assert (code, "serves again" in out) == (5, True), out
    assert desk.process()[1] == words
    assert desk.run("apply", "--yes", *CHANGED)[0] == 0
    assert "--mem-fraction-static" in desk.process()[1]
    assert desk.run("rollback", "--yes")[0] == 0
    pid, now = desk.process()
    assert now == words
    assert desk.run("stop")[0] == 0
    assert desk.process() == (pid, [])
    assert desk.run("status")[0] == 1


def test_no_other_user_sees_a_secret_of_the_environment(desk: Desk) -> None:
    said = desk.run("plan", "-o", "kept.plan")[1] + desk.run("apply", "--format", "json")[1]
    said += desk.run("apply", "--yes", "--set", "env.DSV4_REHEARSAL_FAIL=path-missing")[1]
    said += desk.run("plan", "--set", "env.HF_TOKEN=canary-9d41-2", "--format", "json")[1]
    said += desk.run("status", "--format", "json")[1] + desk.run("history", "--format", "json")[1]
    assert '"schema": "status/1"' in said
    assert "canary" not in said
    assert desk.shown() == []


def test_facts_of_a_node_are_a_facts_document(desk: Desk) -> None:
    code, out = desk.run("facts")
    assert code == 0, out
    (desk.folder / "facts.yaml").write_text(out)
    done = subprocess.run(
        [BIN / "dsv4deploy", "validate", "profile.yaml", "--facts", "facts.yaml"],
        cwd=desk.folder,
        capture_output=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_ctrl_c_ends_it_between_two_steps(desk: Desk) -> None:
    running = desk.begin("apply")
    assert running.stdout
    for line in running.stdout:
        if "to change" in line:
            break
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert (running.returncode, "Traceback" in out) == (130, False), out
    assert desk.run("apply", "--yes")[0] == 0
    assert desk.process()[1][-1] == str(desk.port)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_look_that_is_ended_leaves_nothing_of_its_work(
    desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: signal.Signals
) -> None:
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.setenv("TMPDIR", str(work))
    running = desk.begin("plan")
    while running.poll() is None and not list(work.glob("*/ansible-*/artifacts")):
        time.sleep(0.05)
    running.send_signal(number)
    out, _ = running.communicate(timeout=60)
    assert (running.returncode, "Traceback" in out) == (130, False), out
    assert list(work.glob("*/*")) == []


def test_an_apply_whose_output_nobody_reads_any_more_goes_on_and_is_judged_by_its_exit_code(desk: Desk) -> None:
    words = f"{BIN}/dsv4deploy apply -i {INVENTORY} --yes --set env.DSV4_REHEARSAL_FAIL=path-missing"
    script = f"{{ {words}; echo $? >code; }} | head -n 1"
    subprocess.run(["bash", "-c", script], cwd=desk.folder, env={**os.environ, "HOME": str(desk.folder)}, check=True)
    assert (desk.folder / "code").read_text() == "5\n"
    [record] = (desk.folder / ".dsv4deploy/applies").iterdir()
    assert json.loads(record.read_text().splitlines()[-1])["outcomes"][0]["end"] == "rolled back"


def test_the_server_outlives_the_command_that_started_it_and_a_killed_keeper(desk: Desk) -> None:
    assert desk.run("apply")[0] == 0
    pid, words = desk.process()
    keeper = json.loads((desk.here / "run/process.json").read_text())["keeper"]["pid"]
    os.kill(keeper, signal.SIGKILL)
    time.sleep(0.3)
    assert desk.process() == (pid, words)
    code, out = desk.run("status")
    assert (code, "ready" in out) == (0, True), out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (("plan", "nowhere.yaml"), 3, "nowhere.yaml"),
        (("apply", "--serial", "0"), 2, "--serial"),
        (("rollback",), 4, "no node has a deployment"),
        (("plan", "--limit", "nobody"), 2, "no node or group nobody"),
    ],
)
def test_what_cannot_be_done_is_told_in_a_line(desk: Desk, words: tuple[str, ...], code: int, told: str) -> None:
    found, out = desk.run(*words)
    assert (found, told in out, "Traceback" in out) == (code, True, False), out


def test_a_person_at_a_terminal_sees_rows_and_ends_a_log_with_ctrl_c(desk: Desk) -> None:
    with desk.terminal("apply") as terminal:
        terminal.expect_exact("localhost  checking, uploading  0:0")
        terminal.expect("localhost  flash  ready after")
        terminal.expect(pexpect.EOF)
    assert terminal.exitstatus == 0
    with desk.terminal("logs", "-f", "-n", "1") as terminal:
        terminal.expect_exact("GET /")  # our own look at its health is the last thing that the server wrote
        terminal.sendintr()
        terminal.expect(pexpect.EOF)
    assert (terminal.exitstatus, "Traceback" in terminal.before) == (0, False), terminal.before
