"""The patches of a profile are judged together and against the engine before anything is touched."""

import json
from pathlib import Path

import pytest
import toys
from house import bundle_of, looked, text_of

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused

ENGINE = Path("/opt/sglang/venv")


def seen(project: Path, *patches: str, more: str = "", sets: tuple[str, ...] = ()) -> list[Diagnostic]:
    report = looked(toys.profile(project, ENGINE, *patches, more=more), *sets).report
    return [one for one in report.diagnostics if one.level is not Level.NOTE or one.rule.startswith("patch")]


def test_two_patches_on_one_file_are_told_at_both_places(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    toys.diff(tmp_path)
    found = seen(tmp_path, "mma", "diffed")
    assert [one.rule for one in found] == ["patches-collide"]
    assert found[0].message == "mma and diffed both change sglang/attention.py"
    assert found[0].place
    assert found[0].place.line == found[0].related[0].place.line == 7
    assert found[0].place.column > found[0].related[0].place.column


def test_a_patch_for_another_version_is_told_with_the_line_that_says_so(tmp_path: Path) -> None:
    toys.overlay(tmp_path, fits='versions: "<0.5.20"')
    found = seen(tmp_path, "mma")
    assert [one.rule for one in found] == ["patch-misfit"]
    assert found[0].related[0].place.file.endswith("patches/mma/patch.yaml")


def test_a_patch_for_other_cards_is_told_and_unknown_cards_are_unknown(tmp_path: Path) -> None:
    toys.overlay(tmp_path, fits='versions: ">=0.5", arch: [sm_120]')
    assert seen(tmp_path, "mma", more="hardware: {arch: sm_90}\n")[0].message == "mma was made for sm_120, not sm_90"
    assert not seen(tmp_path, "mma", more="hardware: {arch: sm_120}\n")
    unknown = looked(toys.profile(tmp_path, ENGINE, "mma")).report.unknown
    assert ("patch-misfit", ("arch",)) in [(one.rule, one.needs) for one in unknown]


def test_a_patch_that_the_engine_needs_no_more_is_a_note(tmp_path: Path) -> None:
    toys.overlay(tmp_path, more='drop_when: {versions: ">=0.5.23", because: it was merged}\n')
    found = seen(tmp_path, "mma")
    assert [(one.rule, one.level) for one in found] == [("patch-unnecessary", Level.NOTE)]
    assert "it was merged" in found[0].message


def test_all_that_is_wrong_is_told_at_once(tmp_path: Path) -> None:
    toys.overlay(tmp_path, fits='versions: "<0.5"')
    broken = toys.overlay(tmp_path, "broken")
    (broken / "patch.yaml").write_text("name: broken\n")
    rules = {one.rule for one in seen(tmp_path, "nowhere", "broken", "mma")}
    assert rules >= {"patch-missing", "missing-key", "patch-misfit"}


def test_what_a_patch_that_cannot_be_read_would_read_is_not_told_as_unread(tmp_path: Path) -> None:
    (toys.overlay(tmp_path) / "patch.yaml").write_text("name: mma\n")
    assert {one.rule for one in seen(tmp_path, "mma")} == {"missing-key"}
    assert "toggle-not-read" in {one.rule for one in seen(tmp_path)}


def test_a_patch_that_is_listed_twice_is_told_at_both_places(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    (found,) = seen(tmp_path, "mma", "mma")
    assert (found.rule, found.message, len(found.related)) == ("patches-collide", "mma is listed twice", 1)


def test_a_toggle_that_nothing_reads_is_an_error(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    assert [one.rule for one in seen(tmp_path)] == ["toggle-not-read"]
    assert not seen(tmp_path, "mma")
    build = "engine.provides=[{env: TOY_MMA, because: our build reads it}]"
    assert not seen(tmp_path, sets=("engine.build=ours", build))
    assert not seen(tmp_path, "mma", sets=("kernels.toggles.SGLANG_ENABLE_JIT_DEEPGEMM=0",))
    assert seen(tmp_path, "mma", sets=("kernels.toggles.SGLANG_NO_SUCH_THING=1",))[0].rule == "toggle-not-read"


@pytest.mark.parametrize(
    ("more", "sets", "variants", "rule"),
    [
        ("  toggles: {SGLANG_MY_KERNEL: 0}\n", (), (), "toggle-not-read"),
        ("  toggles: {MY_KERNEL: 1}\n", (), (), "toggle-not-read"),
        ("env: {SGLANG_MY_KERNEL: 1}\n", (), (), "toggle-not-read"),
        ("env: {SGLANG_MY_KERNEL: 1}\n", ("engine.build=ours",), (), "unknown-variable"),
        ("", ("kernels.toggles.SGLANG_MY_KERNEL=1",), (), "toggle-not-read"),
        ("", ("env.SGLANG_MY_KERNEL=1",), (), "toggle-not-read"),
        ("variants: {on: {set: {kernels.toggles.MY_KERNEL: 1}}}\n", (), ("on",), "toggle-not-read"),
        ("args: {my-kernel: true}\n", (), (), "unknown-flag"),
        ("nccl: {env: {MY_KERNEL: 1}}\n", (), (), "invalid-key"),
    ],
)
def test_a_toggle_is_seen_wherever_it_is_written(
    more: str, sets: tuple[str, ...], variants: tuple[str, ...], rule: str
) -> None:
    profile = f"name: a\nengine: {{version: 0.5.23, venv: /opt/venv}}\nmodel: {{path: /m}}\nkernels:\n  attention: fa3\n{more}"
    try:
        found = looked(profile, *sets, variants=variants).report.diagnostics
    except Refused as refused:
        found = refused.diagnostics
    assert rule in {one.rule for one in found}


def test_what_a_patch_provides_silences_stock_rules_on_that_value_alone(tmp_path: Path) -> None:
    more = (
        "hardware: {arch: sm_120}\nparallel: {tp: 4}\n"
        "model: {path: /m, architecture: DeepseekV4ForCausalLM, facts: {model_type: deepseek_v4, quant_method: modelopt_fp4}}\n"
    )
    provides = "provides: [{setting: moe_runner_backend, value: triton, because: it serves NVFP4 here}]\n"
    toys.overlay(tmp_path, "plain")
    toys.overlay(tmp_path, "serving", more=provides)
    path = toys.profile(tmp_path, ENGINE, "plain", more=more)
    path.write_text(path.read_text().replace("model: {path: /models/toy}\n", ""))

    def rules(patch: str, runner: str) -> set[str]:
        sets = (f"kernels.patches=[{patch}]", f"kernels.moe_runner={runner}")
        return {one.rule for one in looked(path, *sets).report.diagnostics}

    assert "nvfp4-runner-cannot" in rules("plain", "triton")
    assert "nvfp4-runner-cannot" not in rules("serving", "triton")
    assert "nvfp4-runner-cannot" in rules("serving", "triton_kernel")
    assert looked(path, "kernels.patches=[serving]").launch.provided[0].by == "serving"


def test_the_files_of_a_patch_travel_in_the_bundle_and_the_manifest_names_them(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    bundle = bundle_of(looked(toys.profile(tmp_path, ENGINE, "mma")))
    assert text_of(bundle, "patches/mma/files/attention.py") == toys.PATCHED
    manifest = json.loads(bundle.manifest.text)
    assert manifest["patches"][0]["digest"] == looked(tmp_path / "profile.yaml").patches[0].digest
    assert manifest["proofs"][0]["log"] == "decode: patched"


def test_the_shadow_comes_first_and_is_needed(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    serve = text_of(bundle_of(looked(toys.profile(tmp_path, ENGINE, "mma"))), "serve.sh")
    assert 'export PYTHONPATH="$here/shadow${PYTHONPATH:+:$PYTHONPATH}"' in serve
    plain = bundle_of(looked(toys.profile(tmp_path, ENGINE, "mma"), "kernels.in_place=true"))
    assert "shadow" not in text_of(plain, "serve.sh")


IMAGE = "engine.container={image: registry.example/sglang@sha256:" + "0" * 64 + "%s}"


def test_in_a_container_the_files_are_mounted_over_those_of_the_image(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    path = toys.profile(tmp_path, ENGINE, "mma")
    path.write_text(path.read_text().replace(f", venv: {ENGINE}", ""))
    serve = text_of(bundle_of(looked(path, IMAGE % ", packages: {sglang: /sgl/python/sglang}")), "serve.sh")
    assert '--volume "$here/"patches/mma/files/attention.py:/sgl/python/sglang/attention.py:ro' in serve
    assert "shadow" not in serve


@pytest.mark.parametrize(
    ("patch", "reason"), [("mma", "where is sglang in the image?"), ("diffed", "cannot be mounted")]
)
def test_what_cannot_be_mounted_is_told(patch: str, reason: str, tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    toys.diff(tmp_path)
    path = toys.profile(tmp_path, ENGINE, patch)
    path.write_text(path.read_text().replace(f", venv: {ENGINE}", ""))
    found = [one.message for one in looked(path, IMAGE % "").report.diagnostics if one.rule == "patch-in-container"]
    assert reason in found[0]


def test_nothing_is_patched_in_place_in_a_container(tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    toys.tuning(tmp_path)
    path = toys.profile(tmp_path, ENGINE, "mma", "tables", more="  in_place: true\n")
    path.write_text(path.read_text().replace(f", venv: {ENGINE}", ""))
    report = looked(path, IMAGE % ", packages: {sglang: /sgl/python/sglang}").report
    (found,) = [one for one in report.diagnostics if one.rule == "patch-in-container"]
    assert found.place
    assert found.place.line == 8


def test_a_patch_is_named_or_given_as_a_path(tmp_path: Path) -> None:
    folder = toys.overlay(tmp_path)
    folder.rename(tmp_path / "mma")
    assert seen(tmp_path, "mma")[0].rule == "patch-missing"
    assert not seen(tmp_path, "./mma")
