"""Health, memory and support on this machine, through the command line alone."""

import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from desk import Desk

COMPILED = ("--set", "compile.torch_compile=true", "--waive", "torch-compile-in-capture-dsv4=to be sure")
CANARIES = ("canary-variable-1", "canary-model-2", "canary-word-3")


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    one = Desk(tmp_path)
    profile = (tmp_path / "profile.yaml").read_text()
    profile = profile.replace("served_name: tiny", "served_name: tiny, facts: {model_type: deepseek_v4}")
    profile = profile.replace('"20"}', f'"20", HF_TOKEN: {CANARIES[0]}, NOTE: "password={CANARIES[2]}"}}')
    profile += f'args: {{model-loader-extra-config: \'{{"token": "{CANARIES[1]}"}}\'}}\n'
    (tmp_path / "profile.yaml").write_text(profile)
    yield one
    one.wipe()


def test_health_support_and_memory_of_one_server(desk: Desk) -> None:
    assert desk.run("apply")[0] == 0
    code, out = desk.run("health", "--format", "json")
    assert code == 0, out
    (server,) = json.loads(out)["servers"]
    states = {one["check"]: one["state"] for one in server["checks"]}
    assert (states["endpoints"], states["smoke"], states["server-info"]) == ("good", "good", "good")

    code, out = desk.run("support-bundle", server["node"], "-o", "bundle.tgz")
    assert code == 0, out
    read = unpacked(desk.folder / "bundle.tgz")
    assert not [(name, canary) for name, text in read.items() for canary in CANARIES if canary in text]
    assert "--tp-size 4" in read["launch.txt"]
    assert "ready to roll" in read["log.txt"]
    assert len(read["log.txt"].splitlines()) <= 300
    assert {"profile.yaml", "release.txt", "topology.txt", "versions.json"} <= set(read)

    code, out = desk.run("apply", "--retry", "no-such")
    assert (code, "there is no mark no-such" in out) == (2, True), out
    code, out = desk.run("apply", "--yes", *COMPILED)
    assert (code, "serves again" in out) == (5, True), out
    assert "confirms rule torch-compile-in-capture-dsv4 on this stack" in out
    (mark,) = (desk.folder / ".dsv4deploy/rehearsal-marks").glob("*.yaml")
    assert not [canary for canary in CANARIES if canary in mark.read_text()]
    code, out = desk.run("apply", "--yes", *COMPILED, "--set", f"server.port={desk.port + 1}")
    assert (code, f"mark:{mark.stem}" in out) == (1, True), out

    gated = ("--set", "health.gate=true", "--set", "health.smoke.contains=[Paris]", "--set", "server.metrics=true")
    code, out = desk.run("apply", "--yes", *gated)
    assert (code, "does not hold 'Paris'" in out, "serves again" in out) == (5, True, True), out


def test_a_wish_that_was_wrong_is_mended_in_place_though_it_left_a_mark(desk: Desk) -> None:
    wrong = ("--set", "health.smoke.contains=[Paris]")
    assert desk.run("apply", *wrong)[0] == 0
    code, out = desk.run("health", "--only", "smoke")
    assert (code, "does not hold 'Paris'" in out, "marked known-bad" in out) == (1, True, True), out
    code, out = desk.run("apply")
    assert (code, "in place, no restart" in out, "warning: failed on" in out) == (0, True, True), out
    assert desk.run("health", "--only", "smoke")[0] == 0
    code, out = desk.run("apply", "--yes", "--set", f"server.port={desk.port + 1}")
    assert (code, "refuse: mark:" in out) == (1, True), out


def unpacked(path: Path) -> dict[str, str]:
    """The texts of an archive by their names below its one folder."""
    with tarfile.open(path) as archive:
        texts = {one.name.partition("/")[2]: archive.extractfile(one) for one in archive}
        return {name: text.read().decode() for name, text in texts.items() if text}
