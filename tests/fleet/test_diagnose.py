"""Experiments and bisections on real nodes: verdicts, and the service that ran before runs again whatever happens."""

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator

import pytest
from ground import PORT, Ground, profile

pytestmark = pytest.mark.fleet

EXPERIMENT = """
name: which
question: Does the switch break the start?
profile: profile.yaml
hypotheses:
  switch: {says: the switch breaks it, blames: [env.DSV4_REHEARSAL_FAIL]}
arms:
  plain: {}
  switched: {control: plain, changes: {env.DSV4_REHEARSAL_FAIL: FAILURE}}
checks: [endpoints]
deadline_s: 600
port: 31000
decide:
  - {when: {plain: ready, switched: failed}, verdict: the switch breaks it, supports: switch, matters: [env.DSV4_REHEARSAL_FAIL]}
  - {when: {plain: ready, switched: ready}, verdict: the switch breaks nothing}
"""
ALONE = """
name: which
question: Does it start like this?
profile: profile.yaml
arms: {switched: {changes: {env.DSV4_REHEARSAL_FAIL: FAILURE}}}
deadline_s: 600
port: 31000
decide: [{when: {switched: failed}, verdict: it does not}]
"""
ARMS = ("which-plain", "which-switched", "other-switched")
STARTED_S = 300  # a guard against waiting for ever; nothing is measured by it


@pytest.fixture(autouse=True)
def without_arms(ground: Ground) -> Iterator[None]:
    """Leave no arm of a test that failed to the next one."""
    yield
    units = " ".join(f"{one} dsv4deploy-watch-{one}" for one in ARMS)
    for node in ground.nodes:
        ground.shell(
            f"systemctl stop {units}; rm -f /etc/systemd/system/*which-* /etc/systemd/system/*other-*", node.name
        )


def prepare(ground: Ground, failure: str = "stream-capture-isolation", **env: str) -> None:
    ground.write(profile("flash", PORT, **env))
    ground.write(EXPERIMENT.replace("FAILURE", failure), "experiment.yaml")


def with_an_arm_that_hangs(ground: Ground) -> tuple[str, subprocess.Popen[str]]:
    """The release that serves, and the experiment for which it is stopped."""
    ground.write(profile("flash", PORT))
    ground.write(ALONE.replace("FAILURE", "hung").replace("which", "other"), "experiment.yaml")
    ground.apply("--limit", "gpu01")
    before = ground.release()
    running = ground.begin("diagnose", "experiment.yaml", "--limit", "gpu01")
    ground.eventually(lambda: ground.pid(unit="other-switched"), STARTED_S)
    return before, running


def nothing_left(ground: Ground) -> None:
    """See that no arm runs, and that nobody listens on the arms' port."""
    for arm in ARMS:
        assert ground.pid(unit=arm) == 0
    assert ground.shell("ss -Hltn 'sport = :31000'") == ""


def test_the_verdict_comes_with_a_mark_and_a_draft_and_the_service_runs_again(ground: Ground) -> None:
    prepare(ground)
    ground.apply("--limit", "gpu01")
    before = ground.release()
    code, out = ground.run("diagnose", "experiment.yaml", "--limit", "gpu01")
    assert code == 0, out
    assert "verdict: decided: the switch breaks it" in out
    assert "cudaErrorStreamCapture" in out or "uncaptured work" in out
    assert list((ground.folder / ".dsv4deploy/rehearsal-marks").glob("*.yaml"))
    assert (ground.folder / ".dsv4deploy/drafts/which.yaml").exists()
    ground.serves(before)
    nothing_left(ground)


def test_an_interrupt_brings_the_service_back_and_what_is_done_counts(ground: Ground) -> None:
    prepare(ground, "hung")
    ground.apply("--limit", "gpu01")
    before = ground.release()
    running = ground.begin("diagnose", "experiment.yaml", "--limit", "gpu01")
    ground.eventually(lambda: ground.pid(unit="which-switched"), STARTED_S)
    ground.write(ALONE.replace("which", "other"), "other.yaml")
    code, out = ground.run("diagnose", "other.yaml", "--limit", "gpu01")
    assert (code, "works on which-switched since" in out) == (4, True), out
    os.kill(running.pid, signal.SIGINT)
    out, _ = running.communicate(timeout=STARTED_S)
    assert running.returncode == 130, out
    ground.serves(before)
    nothing_left(ground)
    prepare(ground)
    code, out = ground.run("diagnose", "experiment.yaml", "--limit", "gpu01")
    assert code == 0, out
    assert "plain: ready after" in out
    assert "done before" in out


def test_a_controller_that_was_killed_leaves_a_node_that_the_next_run_brings_back(ground: Ground) -> None:
    before, running = with_an_arm_that_hangs(ground)
    ground.kill(running)
    # The first arm of another experiment now wants the port that the one that was left holds.
    ground.write(EXPERIMENT.replace("FAILURE", "oom-load"), "experiment.yaml")
    code, out = ground.run("diagnose", "experiment.yaml", "--limit", "gpu01")
    assert code == 0, out
    assert "gpu01: other-switched is ended: whoever started it is gone" in out
    assert "gpu01: flash is started again" in out
    ground.serves(before)
    nothing_left(ground)


def test_a_node_takes_its_service_back_by_itself_when_the_controller_is_not_seen_any_more(ground: Ground) -> None:
    before, running = with_an_arm_that_hangs(ground)
    _, out = ground.run("status", "--limit", "gpu01")
    assert "stopped for an experiment of" in out
    ground.kill(running)
    # As if minutes had gone by: it was last seen before the boot, and the arm's lock is nobody's.
    ground.shell(
        """sed -i 's/"seen": [0-9.]*/"seen": -9999/' /opt/dsv4deploy/flash/aside; : >/opt/dsv4deploy/other-switched/lock"""
    )
    ground.eventually(lambda: ground.pid(unit="flash"), STARTED_S)
    ground.serves(before)
    nothing_left(ground)


def test_arms_run_side_by_side_on_equal_nodes_and_an_arm_that_ends_both_ways_settles_nothing(ground: Ground) -> None:
    prepare(ground)
    broken = json.dumps({"rules": [{"when": {"port": 31000}, "then": {"fail": "oom-load"}}]})
    for node, world in (("gpu01", "{}"), ("gpu02", broken)):
        ground.shell(f"cat > /opt/world.json <<'EOF'\n{world}\nEOF", node)
    experiment = EXPERIMENT.replace("DSV4_REHEARSAL_FAIL", "DSV4_REHEARSAL_WORLD").replace("FAILURE", "/opt/world.json")
    ground.write(experiment.replace("checks: [endpoints]", "repeats: 2"), "experiment.yaml")
    code, out = ground.run("diagnose", "experiment.yaml", "--limit", "gpu01,gpu02")
    assert code == 1, out
    assert "gpu01, gpu02 are equal in what matters" in out
    assert "verdict: flaky: arm switched is flaky" in out
    assert out.index("gpu02  plain: starting") < out.index("plain: ready after")
    for node in ("gpu01", "gpu02"):
        assert not any(ground.pid(node, arm) for arm in ARMS)


@pytest.mark.soak
def test_an_arm_that_is_never_ready_is_no_failure_of_the_configuration(ground: Ground) -> None:
    prepare(ground, "slow-load")
    ground.write(
        (ground.folder / "experiment.yaml").read_text().replace("deadline_s: 600", "deadline_s: 15"), "experiment.yaml"
    )
    code, out = ground.run("diagnose", "experiment.yaml", "--limit", "gpu01")
    assert code == 1, out
    assert "verdict: progressing: arm switched was still progressing at its deadline" in out
    nothing_left(ground)


@pytest.mark.soak
def test_bisect_finds_the_culprit_on_a_node(ground: Ground) -> None:
    ground.write(profile(), "good.yaml")
    ground.write(profile(COLOR="red", DSV4_REHEARSAL_FAIL="oom-load", SHAPE="round"), "bad.yaml")
    code, out = ground.run("bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--limit", "gpu01")
    assert code == 0, out
    assert "culprit: env.DSV4_REHEARSAL_FAIL" in out
    assert list((ground.folder / ".dsv4deploy/drafts").glob("bisect-*.yaml"))


def test_probes_travel_to_a_node_and_say_what_its_python_lacks(ground: Ground) -> None:
    code, out = ground.run("probe", "all-reduce", "--python", "/usr/bin/python3", "--limit", "gpu01")
    assert code == 4, out
    assert "/usr/bin/python3 has no torch" in out
    assert ground.shell("ls -d /tmp/dsv4deploy-probes-* 2>/dev/null") == ""


@pytest.mark.soak
def test_a_node_that_is_lost_in_mid_arm_is_asked_again_and_the_service_comes_back(ground: Ground) -> None:
    prepare(ground, "hung")
    experiment = (ground.folder / "experiment.yaml").read_text().replace("deadline_s: 600", "deadline_s: 40")
    ground.write(experiment.replace("switched: failed}", "switched: progressing}"), "experiment.yaml")
    ground.apply("--limit", "gpu01")
    before = ground.release()
    running = ground.begin("diagnose", "experiment.yaml", "--limit", "gpu01")
    ground.eventually(lambda: ground.pid(unit="which-switched"), STARTED_S)
    ground.node().cut(silent=True)
    time.sleep(20)
    ground.node().heal()
    out, _ = running.communicate(timeout=240)
    assert running.returncode == 0, out
    assert "verdict: decided: the switch breaks it" in out
    ground.serves(before)
    nothing_left(ground)


@pytest.mark.soak
def test_an_arm_may_run_another_engine_and_that_is_one_variable(ground: Ground) -> None:
    prepare(ground)
    older = "{engine.version: 0.5.22, engine.venv: /opt/rehearsal-0.5.22}"
    experiment = EXPERIMENT.replace("{env.DSV4_REHEARSAL_FAIL: FAILURE}", older)
    ground.write(experiment.replace("env.DSV4_REHEARSAL_FAIL", "engine"), "experiment.yaml")
    code, out = ground.run("diagnose", "experiment.yaml", "--limit", "gpu01")
    assert code == 0, out
    assert "confound" not in out
    assert "switched  against plain: engine\n" in out
    assert "verdict: decided: the switch breaks nothing" in out
    nothing_left(ground)
