"""A bundle: what real bash makes of it, what linters say, and that the same profile gives the same bytes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from house import EXAMPLES, ROOT, bundle_of, looked, rendered, text_of
from hypothesis import HealthCheck, given, settings
from profiles import HOSTILE, MadeUp, profiles

from dsv4deploy.model.bundle import Bundle
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim import bundles

SHELLCHECK = Path(sys.executable).with_name("shellcheck")
FIRST = ROOT / "examples/dsv4-flash-nvfp4-tp4/profile.yaml"
IDS = [f"{path.parent.name}/{path.stem}" for path in EXAMPLES]
# Stands where the engine's interpreter would, and writes down how it was called.
RECORDER = """#!/bin/bash
printf '%s\\0' "$@" >"$RECORD/argv"
env -0 >"$RECORD/env"
"""
MINIMAL = """
name: t
engine: {version: 0.5.23, venv: /opt/venv}
model: {path: /m}
"""


def started(bundle: Bundle, folder: Path, venv: str) -> tuple[list[str], dict[str, str]]:
    """Run `serve.sh` in real bash; the words and variables with which the interpreter was called."""
    bundles.write(bundle, folder / "bundle")
    record = folder / "record"
    record.mkdir(parents=True)
    python = folder / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text(RECORDER)
    python.chmod(0o755)
    script = folder / "bundle/serve.sh"
    script.write_text(script.read_text().replace(f"{venv}/bin/python", str(python)))
    environment = {"PATH": os.environ["PATH"], "HOME": "/home/nobody", "RECORD": str(record), "LC_ALL": "C"}
    subprocess.run([str(script)], env=environment, cwd="/", check=True)
    words = (record / "argv").read_bytes().decode().split("\0")[:-1]
    pairs = (record / "env").read_bytes().decode().split("\0")[:-1]
    return words, dict(pair.split("=", 1) for pair in pairs)


@pytest.mark.parametrize(
    "judged",
    ["health: {timeout_s: 60}", "health: {endpoints: []}", 'waivers: [{rule: a, reason: b, until: "2027-01-31"}]'],
)
def test_how_a_profile_is_judged_makes_another_manifest_and_the_same_release(tmp_path: Path, judged: str) -> None:
    bundles = []
    for number, text in enumerate(("", judged, "server: {port: 1234}")):
        path = tmp_path / f"{number}.yaml"
        path.write_text(f"{MINIMAL}{text}\n")
        bundles.append(rendered(path))
    plain, other, moved = bundles
    assert (other.digest, other.artifacts) == (plain.digest, plain.artifacts)
    assert other.manifest.text != plain.manifest.text
    assert moved.digest != plain.digest


def test_the_first_example_starts_what_its_manifest_says(tmp_path: Path) -> None:
    (tmp_path / "nccl.env").write_text("export NCCL_P2P_LEVEL=SYS\nexport UNSET_IS_FINE=$NOT_SET_ANYWHERE\nfalse\n")
    bundle = rendered(FIRST, f"nccl.env_file={tmp_path}/nccl.env")
    words, variables = started(bundle, tmp_path / "run", "/home/serve/sglang/venv")
    assert words == ["-m", "sglang.launch_server", *bundle.facts["argv"]]  # type: ignore[misc]
    assert variables["NCCL_P2P_LEVEL"] == "SYS", "the file on the node is sourced"
    assert variables["SGLANG_SM120_MMA_FLASHMLA"] == "1"
    assert variables["CUDA_DEVICE_ORDER"] == "PCI_BUS_ID"
    assert variables["CUDA_VISIBLE_DEVICES"] == "0,1,2,3"
    added = set(variables) - {"PATH", "HOME", "RECORD", "LC_ALL", "PWD", "OLDPWD", "SHLVL", "_"}
    documented = set(bundle.facts["environment"]) | {"NCCL_P2P_LEVEL", "UNSET_IS_FINE"}  # type: ignore[arg-type]
    assert {name for name in added - documented if "CACHE" not in name} == {"FLASHINFER_WORKSPACE_BASE"}


def test_ours_has_the_last_word_over_the_file_on_the_node(tmp_path: Path) -> None:
    (tmp_path / "nccl.env").write_text("export NCCL_DEBUG=INFO SGLANG_SM120_MMA_FLASHMLA=0\n")
    bundle = rendered(FIRST, f"nccl.env_file={tmp_path}/nccl.env")
    _, variables = started(bundle, tmp_path / "run", "/home/serve/sglang/venv")
    assert (variables["NCCL_DEBUG"], variables["SGLANG_SM120_MMA_FLASHMLA"]) == ("INFO", "1")


@pytest.mark.parametrize(
    ("pinned", "said"),
    [(None, "cannot read"), ("0" * 64, "is not the file that the profile pins")],
)
def test_a_start_without_its_environment_file_says_so(tmp_path: Path, pinned: str | None, said: str) -> None:
    path = tmp_path / "nccl.env"
    if pinned:
        path.write_text("export NCCL_DEBUG=INFO\n")
    sets = [f"nccl.env_file={path}", *([f'nccl.env_file_sha256="{pinned}"'] if pinned else [])]
    bundles.write(rendered(MINIMAL, *sets), tmp_path / "bundle")
    run = subprocess.run([str(tmp_path / "bundle/serve.sh")], capture_output=True, text=True, check=False)
    assert run.returncode == os.EX_CONFIG
    assert f"{said}" in run.stderr


@pytest.mark.parametrize("value", [*HOSTILE, "x" * 10_000], ids=lambda value: repr(value[:12]))
def test_hostile_values_arrive_byte_for_byte(tmp_path: Path, value: str) -> None:
    profile = yaml.safe_load(MINIMAL)
    profile["model"] |= {"revision": value, "chat_template": value}
    profile |= {"env": {"MY_VALUE": value}, "args": {"json-model-override-args": value}}
    bundle = bundle_of(looked(yaml.safe_dump(profile)))
    words, variables = started(bundle, tmp_path, "/opt/venv")
    for flag in ("--revision", "--chat-template", "--json-model-override-args"):
        joined = f"{flag}={value}"
        assert joined in words or words[words.index(flag) + 1] == value
    assert variables["MY_VALUE"] == value


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_bash_and_shellcheck_have_nothing_to_say(example: Path, tmp_path: Path) -> None:
    bundles.write(rendered(example), tmp_path / "bundle")
    assert_lints_clean(tmp_path / "bundle")


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(profiles())
def test_bash_and_shellcheck_have_nothing_to_say_of_any_profile(
    tmp_path_factory: pytest.TempPathFactory, made_up: MadeUp
) -> None:
    folder = tmp_path_factory.mktemp("bundle") / made_up.tree["name"]
    bundles.write(bundle_of(looked(made_up.text)), folder)
    assert_lints_clean(folder)


def assert_lints_clean(folder: Path) -> None:
    scripts = [str(folder / "serve.sh"), str(folder / "nccl.env")]
    subprocess.run(["bash", "-n", *scripts], check=True)
    check = subprocess.run([str(SHELLCHECK), "--shell=bash", *scripts], capture_output=True, text=True, check=False)
    assert check.stdout == ""


@pytest.mark.parametrize("example", EXAMPLES, ids=IDS)
def test_the_resolved_profile_renders_the_same_bytes(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bundle = rendered(example)
    monkeypatch.chdir(example.parent)  # patches are found beside the profile
    again = rendered(json.dumps(bundle.facts["profile"]))
    assert again.files == bundle.files


def test_bytes_do_not_depend_on_the_interpreter_or_its_surroundings(tmp_path: Path) -> None:
    bundles.write(rendered(FIRST), tmp_path / "expected")
    expected = {path.name: path.read_bytes() for path in (tmp_path / "expected").iterdir()}
    for number, surroundings in enumerate(
        [
            {"PYTHONHASHSEED": "1", "TZ": "Asia/Tokyo", "LC_ALL": "C"},
            {"PYTHONHASHSEED": "2", "TZ": "UTC", "LANG": "de_DE.UTF-8"},
        ]
    ):
        out = tmp_path / str(number)
        out.mkdir()
        command = [sys.executable, "-m", "dsv4deploy", "render", str(FIRST), "-o", str(out / "bundle")]
        subprocess.run(command, env=os.environ | surroundings, cwd=out, check=True, capture_output=True)
        found = {path.name: path.read_bytes() for path in (out / "bundle").iterdir()}
        found.pop("manifest.json"), expected.pop("manifest.json", None)
        assert found == expected


def test_a_container_gets_its_cards_from_docker_and_its_variables_by_name() -> None:
    digest = "0" * 64
    profile = f"""
name: boxed
engine: {{version: 0.5.23, container: {{image: "lmsysorg/sglang@sha256:{digest}"}}}}
model: {{path: /models/m}}
hardware: {{devices: [0, 2]}}
env: {{MY_VALUE: "a b"}}
"""
    script = text_of(rendered(profile), "serve.sh")
    assert """--gpus '"device=0,2"'""" in script
    assert "--env MY_VALUE \\\n" in script
    assert "--volume /models/m:/models/m:ro" in script
    assert f"lmsysorg/sglang@sha256:{digest} \\\n  python3 -m sglang.launch_server" in script
    assert "CUDA_VISIBLE_DEVICES" not in script + text_of(rendered(profile), "nccl.env")


def test_no_key_stands_in_any_file(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_text("sk-canary-1234\n")
    key.chmod(0o600)
    bundle = rendered(MINIMAL, f"server.api_key_file={key}")
    assert all(b"sk-canary" not in artifact.text for artifact in bundle.files)
    assert f"LoadCredential=api_key:{key}" in text_of(bundle, "t.service")
    words, variables = started(bundle, tmp_path / "run", "/opt/venv")
    assert words[1:5] == ["sglang.launch_server", f"--api-key-file={key}", "--", "--model-path"]
    assert "sk-canary-1234" not in {*words, *variables.values()}


def test_what_holds_a_variable_is_not_for_everybody(tmp_path: Path) -> None:
    bundles.write(rendered(MINIMAL, "env.HF_TOKEN=canary-1234"), tmp_path / "t")
    holds = {
        path.name: path.stat().st_mode & 0o777 for path in (tmp_path / "t").iterdir() if b"canary" in path.read_bytes()
    }
    assert holds == {"nccl.env": 0o640, "manifest.json": 0o640}


def test_a_folder_that_is_no_bundle_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/notes.txt").write_text("mine")
    with pytest.raises(Trouble, match="no bundle of ours"):
        bundles.write(rendered(MINIMAL), tmp_path / "mine")
    assert [path.name for path in tmp_path.rglob("*")] == ["mine", "notes.txt"]
