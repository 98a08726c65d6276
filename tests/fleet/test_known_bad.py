"""What failed once is not paid for twice: rolled back, marked, refused, and let through where the stack is another."""

import pytest
from ground import PORT, Ground, profile

pytestmark = pytest.mark.fleet

COMPILED = ("--set", "compile.torch_compile=true", "--waive", "torch-compile-in-capture-dsv4=to be sure")
SECRET = {"MY_TOKEN": "canary-variable"}
ONE = ("--yes", "--limit", "gpu01")


def test_a_combination_that_failed_is_undone_marked_and_refused_until_something_that_matters_changes(
    ground: Ground,
) -> None:
    ground.write(
        profile("flash", PORT, **SECRET).replace(
            "{path: /models/none,", "{path: /models/none, facts: {model_type: deepseek_v4},"
        )
    )
    ground.apply("--limit", "gpu01")
    first = ground.release()

    assert ground.run("plan", "--limit", "gpu01", *COMPILED, "-o", "kept.json")[0] == 0
    code, out = ground.run("apply", *ONE, *COMPILED)
    assert code == 5, out
    assert "serves again" in out
    assert "confirms rule torch-compile-in-capture-dsv4" in out
    ground.serves(first)
    (mark,) = (ground.folder / ".dsv4deploy/rehearsal-marks").glob("*.yaml")
    written = mark.read_text()
    assert "dependency created on uncaptured work in another stream" in written
    assert "canary" not in written

    code, out = ground.run("status", "--limit", "gpu01")
    assert (code, "  ready  " in out, f"last mark: {mark.stem}" in out) == (0, True, True), out
    code, out = ground.run("health", "--limit", "gpu01")
    assert (code, "gpu01  flash  healthy" in out) == (0, True), out
    code, out = ground.run("support-bundle", "gpu01", "-o", "bundle.tgz")
    assert code == 0, out

    pid = ground.pid()
    for change in ((), ("--set", "server.port=31000"), ("--set", "memory.fraction_static=0.5")):
        code, out = ground.run("apply", *ONE, *COMPILED, *change)
        assert (code, f"mark:{mark.stem}" in out, ground.pid()) == (1, True, pid), out

    code, out = ground.run("apply", *ONE, "--plan", "kept.json")
    assert (code, f"mark:{mark.stem}" in out, ground.pid()) == (1, True, pid), out

    code, out = ground.run("plan", "--limit", "gpu01", *COMPILED, *OLDER)
    assert code == 0, out
    assert "that was with SGLang 0.5.23 and not 0.5.22: it does not block" in out

    ground.apply("--limit", "gpu01", "--set", "memory.fraction_static=0.5")
    assert "--enable-torch-compile" not in ground.words()
    code, out = ground.run("plan", "--limit", "gpu01")
    assert "this exact configuration ran on this stack on" in out


OLDER = ("--set", "engine.version=0.5.22", "--set", "engine.venv=/opt/rehearsal-0.5.22")


def test_a_mark_is_tried_again_on_request_and_a_failure_of_the_place_leaves_none(ground: Ground) -> None:
    ground.write(profile().replace("{path: /models/none,", "{path: /models/none, facts: {model_type: deepseek_v4},"))
    ground.apply("--limit", "gpu01")
    code, out = ground.run("apply", *ONE, *COMPILED)
    assert (code, "marked known-bad" in out) == (5, True), out
    (mark,) = (ground.folder / ".dsv4deploy/rehearsal-marks").glob("*.yaml")
    code, out = ground.run("apply", *ONE, *COMPILED, "--retry", mark.stem)
    assert (code, "seen 2 times" in out) == (5, True), out
    failing = ("--set", "env.DSV4_REHEARSAL_FAIL=sigkill-init")
    code, out = ground.run("apply", *ONE, *failing)
    assert code == 5, out
    assert [one.name for one in mark.parent.glob("*.yaml")] == [mark.name]
