"""`diagnose` and `bisect` on this machine, with rehearsals: from the question to verdict, mark and draft rule."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

COMMAND = Path(sys.executable).parent / "dsv4deploy"
EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    for name in ("compile-vs-kernel", "dsv4-flash-nvfp4-tp4"):
        shutil.copytree(EXAMPLES / name, tmp_path / name, ignore=shutil.ignore_patterns(".dsv4deploy"))
    return tmp_path / "compile-vs-kernel"


def run(folder: Path, *words: str) -> tuple[int, str]:
    done = subprocess.run(
        [COMMAND, *words], cwd=folder, capture_output=True, text=True, check=False, timeout=180, env=_environment()
    )
    return done.returncode, done.stdout + done.stderr


def _environment() -> dict[str, str]:
    # Without the second, what is said through a pipe is read when it is said only if it is written so.
    own = ("DSV4_", "PYTHONUNBUFFERED")
    return {name: value for name, value in os.environ.items() if not name.startswith(own)}


def nothing_left(folder: Path) -> bool:
    """Whether all that belongs to a folder has ended; the watch over a trial sees within a second that it is over."""
    end = time.monotonic() + 10
    while processes(folder) and time.monotonic() < end:
        time.sleep(0.1)
    return processes(folder) == []


def processes(folder: Path) -> list[str]:
    """The command lines that still belong to a folder."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = path.read_bytes().decode(errors="replace")
        except OSError:
            continue
        if str(folder) in words:
            found.append(words)
    return found


def test_the_first_experiment_is_criticised_before_anything_starts(project: Path) -> None:
    code, out = run(project, "diagnose", "experiment.yaml", "--local", "--check")
    assert code == 1
    assert "warning[confound]: arm kernel-off differs from its control kernel-on in 2 variables" in out
    assert "--> experiment.yaml:21:5" in out
    assert "hypothesis stack blames compile.torch_compile, and no two arms differ in it alone" in out
    assert "autotune is at work in arm kernel-off too" in out
    assert not (project / ".dsv4deploy/trials").exists()


def small(project: Path, arms: str, decide: str, *more: str) -> Path:
    """An experiment on the profile of the example."""
    lines = ["name: small", "question: which?", "profile: ../dsv4-flash-nvfp4-tp4/profile.yaml", *more]
    path = project / "small.yaml"
    path.write_text("\n".join([*lines, f"arms: {arms}", f"decide: [{decide}]"]))
    return path


def test_an_arm_that_compiles_nothing_is_named_before_anything_starts(project: Path) -> None:
    arms = "{a: {}, b: {control: a, changes: {compile.torch_compile: true, cuda_graph.decode.enabled: false}}}"
    small(project, arms, "{when: {a: ready, b: ready}, verdict: fine}")
    code, out = run(project, "diagnose", "small.yaml", "--local", "--check")
    assert code == 1
    assert "warning[arm-cannot-answer]: arm b: it compiles nothing, and so proves nothing about torch.compile" in out


def test_mistakes_of_the_file_and_of_every_arm_are_told_in_their_places_at_once(project: Path) -> None:
    arms = "{a: {changes: {compile.torch_compil: true}}, b: {control: c, changes: {parallel.tp: four}}}"
    small(project, arms, "{when: {a: redy}, verdict: v}")
    code, out = run(project, "diagnose", "small.yaml", "--check")
    assert code == 1
    assert out.count("--> small.yaml:4:") == 3
    assert out.count("--> small.yaml:5:") == 1
    assert "did you mean torch_compile?" in out
    assert "parallel.tp: expected" in out
    assert "there is no arm c" in out
    assert "did you mean ready?" in out
    assert not (project / ".dsv4deploy").exists()


def test_an_argument_that_the_engine_does_not_read_is_no_variable_of_an_arm(project: Path) -> None:
    arms = "{a: {}, b: {control: a, changes: {args.context-lenght: 5}}}"
    small(project, arms, "{when: {a: ready}, verdict: v}")
    code, out = run(project, "diagnose", "small.yaml", "--check")
    assert (code, "error[unknown-flag]" in out, "--> small.yaml:4:" in out) == (1, True, True), out


def test_a_capacity_that_nobody_states_cannot_be_checked_and_one_that_is_stated_is(project: Path) -> None:
    arms, decide = "{a: {reach: null}}", "{when: {a: check-failed}, verdict: v}"
    small(project, arms, decide, "checks: [capacity]")
    code, out = run(project, "diagnose", "small.yaml", "--local")
    assert (code, "arm a: the check capacity needs health.longest_prompt" in out) == (1, True), out
    assert not (project / ".dsv4deploy").exists()
    small(
        project,
        arms.replace("reach: null", "changes: {args.context-length: 4096, health.longest_prompt: 5000}"),
        decide,
        "checks: [capacity]",
    )
    code, out = run(project, "diagnose", "small.yaml", "--local")
    assert (code, "verdict: decided: v" in out) == (0, True), out


def test_nobody_else_starts_where_an_arm_runs(project: Path) -> None:
    one = small(project, "{a: {changes: {env.DSV4_REHEARSAL_FAIL: slow-load}}}", "{when: {a: failed}, verdict: v}")
    (project / "other.yaml").write_text(one.read_text().replace("name: small", "name: other"))
    words = [str(COMMAND), "diagnose", str(one), "--local"]
    with subprocess.Popen(words, cwd=project, stdout=subprocess.PIPE, text=True, env=_environment()) as first:
        assert first.stdout
        said: list[str] = []
        while not said or " s  load" not in said[-1]:
            said.append(first.stdout.readline())
            assert said[-1], said
        refused = [run(project, "diagnose", another, "--local") for another in ("small.yaml", "other.yaml")]
        first.send_signal(signal.SIGINT)
    assert [(code, "works on small-a since" in out) for code, out in refused] == [(4, True)] * 2, refused
    assert first.returncode == 130
    assert nothing_left(project)


def test_what_an_earlier_run_saw_fail_is_marked_once_it_is_decided_and_other_arms_do_not_count(tmp_path: Path) -> None:
    engine = "engine: {version: 0.5.23, venv: /none}\nmodel: {path: /none}\nparallel: {tp: 4}"
    (tmp_path / "profile.yaml").write_text(f"name: flash\n{engine}\n")
    (tmp_path / "experiments").mkdir()
    head = "name: x\nquestion: q?\nprofile: ../profile.yaml\narms: {a: {changes: {env.DSV4_REHEARSAL_FAIL: FAILS}}}\n"

    def tried(fails: str, decide: str) -> tuple[int, str]:
        (tmp_path / "experiments/x.yaml").write_text(head.replace("FAILS", fails) + f"decide: [{decide}]\n")
        return run(tmp_path, "diagnose", "experiments/x.yaml", "--local")

    code, out = tried("oom-load", "{when: {a: ready}, verdict: v}")
    assert (code, "marked known-bad" in out) == (1, False), out
    code, out = tried("oom-load", "{when: {a: failed}, verdict: v, matters: [env.DSV4_REHEARSAL_FAIL]}")
    assert (code, "done before" in out, "draft rule:" in out) == (0, True, True), out
    assert list((tmp_path / ".dsv4deploy/rehearsal-marks").glob("oom-load-flash-*.yaml"))
    assert not (tmp_path / "experiments/.dsv4deploy").exists()
    _, out = tried("oom-kv", "{when: {a: ready}, verdict: v}")
    assert "1 earlier trials started something else than these arms" in out
    assert nothing_left(tmp_path)


def test_an_arm_counts_once_it_is_far_enough_and_one_that_fails_a_health_check_has_failed(project: Path) -> None:
    unhealthy = "{control: far, reach: null, changes: {health.endpoints: [/nowhere]}}"
    arms = f"{{far: {{reach: capture}}, sick: {unhealthy}}}"
    small(project, arms, "{when: {far: reached, sick: check-failed}, verdict: it is sick}", "checks: [endpoints, log]")
    code, out = run(project, "diagnose", "small.yaml", "--local")
    assert code == 0, out
    assert "far: reached after" in out
    assert "/nowhere answered 404" in out
    assert "verdict: decided: it is sick" in out
    assert nothing_left(project)


def test_a_server_that_is_slower_than_asked_for_has_failed_with_what_was_measured(project: Path) -> None:
    profile = (EXAMPLES / "dsv4-flash-nvfp4-tp4/profile.yaml").read_text().partition("variants:")[0]
    (project / "good.yaml").write_text(profile)
    (project / "bad.yaml").write_text(profile + "env: {OMP_NUM_THREADS: 8}\n")
    words = ("bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--local", "--below", "1e12")
    code, out = run(project, *words)
    assert code == 1, out
    assert "the good side is not good: check-failed" in out
    (record,) = (project / ".dsv4deploy/trials").glob("*.yaml")
    kept = yaml.safe_load(record.read_text())
    assert "below 1e+12" in kept["trial"]["root"]
    assert kept["figures"]["runs"] >= 3
    assert nothing_left(project)


def test_a_bad_side_whose_arguments_are_no_arguments_is_not_launched_without_them(project: Path) -> None:
    profile = (EXAMPLES / "dsv4-flash-nvfp4-tp4/profile.yaml").read_text().partition("variants:")[0]
    (project / "good.yaml").write_text(profile)
    (project / "bad.yaml").write_text(profile + "args: {schedule-policy: nonsense}\n")
    code, out = run(project, "bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--local")
    assert code == 1, out
    assert "bad.yaml cannot be launched as it is written" in out
    assert "dsv4deploy validate bad.yaml" in out
    assert "ready after" not in out
    assert nothing_left(project)


def test_a_profile_that_bisect_cannot_read_is_told_as_validate_tells_it(project: Path) -> None:
    (project / "bad.yaml").write_text("name: flash\nengine: {version: 0.5.21, vnev: /opt}\n")
    code, out = run(project, "bisect", "--good", "bad.yaml", "--bad", "bad.yaml", "--local")
    assert code in {1, 2}
    assert "a bug in dsv4deploy" not in out


def test_the_recorded_outcome_has_its_verdict_mark_and_draft_and_is_not_run_twice(project: Path) -> None:
    words = ("diagnose", "experiment-2.yaml", "--local", "--repeats", "1")
    code, out = run(project, *words)
    assert code == 0, out
    assert "a rehearsal of SGLang 0.5.13.post1 on this machine" in out
    assert "torch.compile does not survive the capture of this stack, whatever the kernel" in out
    draft = yaml.safe_load((project / ".dsv4deploy/drafts/compile-vs-kernel-2.yaml").read_text())
    assert draft["when"] == [{"setting": "enable_torch_compile", "is": True}]
    beside = project.parent / "dsv4-flash-nvfp4-tp4"
    assert len(list((beside / ".dsv4deploy/rehearsal-marks").glob("stream-capture-*.yaml"))) == 2
    assert not (beside / "marks").exists()
    assert nothing_left(project)
    code, again = run(project, *words, "--format", "json")
    assert code == 0
    told = json.loads(again[again.index("{\n") : again.rindex("}\n") + 1])
    assert (told["schema"], told["kind"], len(told["trials"])) == ("experiment/1", "decided", 4)
    assert len(list((project / ".dsv4deploy/trials").glob("*.yaml"))) == 4


def test_in_the_other_world_only_the_kernel_is_at_fault_and_bisect_finds_the_same_pair(project: Path) -> None:
    code, out = run(project, "diagnose", "experiment-2.yaml", "--world", "world-kernel.yaml", "--repeats", "1")
    assert code == 0, out
    assert "our kernel under torch.compile is the blocker" in out
    profile = (EXAMPLES / "dsv4-flash-nvfp4-tp4/profile.yaml").read_text().partition("variants:")[0]
    (project / "good.yaml").write_text(profile.replace("MMA_FLASHMLA: 1\n", "MMA_FLASHMLA: 0\n"))
    (project / "bad.yaml").write_text(
        profile.replace("max_bs: 32", "max_bs: 64") + "compile: {torch_compile: true}\nenv: {OMP_NUM_THREADS: 8}\n"
    )
    words = ("bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--world", "world-kernel.yaml", "--format", "json")
    code, out = run(project, *words)
    assert code == 0, out
    told = json.loads(out[out.index("{\n") : out.rindex("}\n") + 1])
    assert set(told["culprit"]) == {"compile.torch_compile", "kernels.toggles.SGLANG_SM120_MMA_FLASHMLA"}
    assert told["failure"] == "stream-capture"
    assert nothing_left(project)


@pytest.mark.soak
def test_what_no_launch_can_tell_is_said_and_makes_no_rule(project: Path) -> None:
    profile = "name: flash\nengine: {version: 0.5.23, venv: /none}\nmodel: {path: /none}\nparallel: {tp: 4}\n"
    (project / "good.yaml").write_text(f'{profile}env: {{DSV4_REHEARSAL_SPEED: "50"}}\n')
    (project / "bad.yaml").write_text(f'{profile}env: {{DSV4_REHEARSAL_SPEED: "50", X: 1, Y: 1}}\n')
    pair, alone = (
        '{when: {env.X: "1", env.Y: "1"}, then: {fail: oom-load}}',
        '{when: {env.Y: "1"}, then: {fail: oom-kv}}',
    )
    (project / "world.yaml").write_text(f"rules: [{pair}, {alone}]\n")
    words = ("bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--world", "world.yaml")
    code, out = run(project, *words)
    assert code == 1, out
    assert "culprit: env.Y=1\n  = perhaps env.X belongs to it too: no mix that can be launched tells" in out
    assert not list((project / ".dsv4deploy").glob("drafts/*"))
    assert "done before" in run(project, *words)[1]
    assert "done before" not in run(project, *words, "--again")[1]


def test_a_check_that_fails_once_ready_can_be_bisected_too(project: Path) -> None:
    profile = (EXAMPLES / "dsv4-flash-nvfp4-tp4/profile.yaml").read_text().partition("variants:")[0]
    (project / "good.yaml").write_text(profile)
    (project / "bad.yaml").write_text(profile + "env: {OMP_NUM_THREADS: 8}\ncompile: {max_bs: 8}\n")
    check = f"""{sys.executable} -c "
import os, sys, urllib.request
told = urllib.request.urlopen(os.environ['DSV4_URL'] + '/server_info').read().decode()
sys.exit('\\"torch_compile_max_bs\\": 8' in told or '\\"torch_compile_max_bs\\":8' in told)
" """
    words = ("bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--local", "--check", check)
    code, out = run(project, *words)
    assert code == 0, out
    assert "culprit: compile.max_bs=8" in out
    assert "check-failed, found in" in out


def test_an_interrupt_leaves_no_process_and_says_so(project: Path) -> None:
    running = subprocess.Popen(
        [COMMAND, "diagnose", "experiment-2.yaml", "--local"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=_environment(),
        start_new_session=True,
    )
    end = time.monotonic() + 60
    while not any("launch_server" in words for words in processes(project)):
        assert time.monotonic() < end
        time.sleep(0.05)
    running.send_signal(signal.SIGINT)
    out, _ = running.communicate(timeout=60)
    assert running.returncode == 130, out
    assert "what is done counts" in out
    assert nothing_left(project)
