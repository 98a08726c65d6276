"""What stands in the way of a release, told before anything is touched."""

import hashlib
import json
from pathlib import Path

import bundles
import pytest
from local_node import Node

from dsv4deploy.node import checksums, gpus, pins

RIGHT = hashlib.sha256(b"weights").hexdigest()
WRONG = hashlib.sha256(b"other weights").hexdigest()


def venv_with(folder: Path, requires: tuple[str, ...], **installed: str) -> str:
    """A virtual environment of metadata alone, and its interpreter."""
    site = folder / "lib/python3.12/site-packages"
    for name, version in {"sglang": "0.5.23", **installed}.items():
        info = site / f"{name}-{version}.dist-info"
        info.mkdir(parents=True)
        lines = [f"Requires-Dist: {one}" for one in requires] if name == "sglang" else []
        (info / "METADATA").write_text("\n".join(["Metadata-Version: 2.1", f"Name: {name}", *lines, "", "Text."]))
    (folder / "pyvenv.cfg").touch()
    (folder / "bin").mkdir()
    (folder / "bin/python").symlink_to("/bin/true")
    return str(folder / "bin/python")


def test_what_the_engine_pins_is_held_against_what_is_installed(tmp_path: Path) -> None:
    requires = ("torch==2.11.0", "flashinfer_python==0.6.7", "numpy", "xgrammar==0.1.32", 'nixl==1.0; extra == "pd"')
    python = venv_with(tmp_path, requires, torch="2.11.0+cu130", flashinfer_python="0.6.5")
    assert pins.unmet(python) == ["flashinfer_python==0.6.7 (has 0.6.5)", "xgrammar==0.1.32 (not installed)"]


def test_an_engine_beside_other_packages_than_it_pins_is_a_warning(node: Node) -> None:
    manifest = bundles.bundle(node.folder / "one", port=node.port)
    python = venv_with(node.folder / "venv", ("torch==2.11.0",), torch="2.9.1")
    manifest["engine"] |= {"rehearsal": False, "version": "0.5.23", "python": python}
    (node.folder / "model").mkdir()
    (node.folder / "model/config.json").write_text("{}")
    manifest["model"]["path"] = str(node.folder / "model")
    found = node.do("preflight", manifest=manifest)
    assert found["problems"] == []
    assert "sglang pins what the venv has otherwise: torch==2.11.0 (has 2.9.1)" in [
        one["message"] for one in found["warnings"]
    ]


@pytest.mark.parametrize(("sum_", "told"), [(RIGHT, (1, [], [])), (WRONG, (0, ["a.safetensors"], []))])
@pytest.mark.parametrize("source", ["list", "download", "cache"])
def test_weights_are_held_against_the_sha256_that_came_with_them(
    tmp_path: Path, source: str, sum_: str, told: tuple[int, list[str], list[str]]
) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    shard = folder / "a.safetensors"
    shard.write_bytes(b"weights")
    if source == "list":
        (folder / "SHA256SUMS").write_text(f"{sum_}  a.safetensors\n")
    elif source == "download":
        metadata = folder / ".cache/huggingface/download/a.safetensors.metadata"
        metadata.parent.mkdir(parents=True)
        metadata.write_text(f"{'0' * 40}\n{sum_}\n1750000000.0\n")
    else:
        shard.rename(tmp_path / sum_)
        shard.symlink_to(tmp_path / sum_)
    found = checksums.compare(folder)
    assert (found["right"], found["wrong"], found["unknown"]) == told


def test_weights_that_nobody_vouches_for_are_unknown_and_lost_ones_are_wrong(tmp_path: Path) -> None:
    (tmp_path / "a.safetensors").write_bytes(b"weights")
    (tmp_path / "config.json").write_bytes(b"{}")
    (tmp_path / "SHA256SUMS").write_text(f"{RIGHT} *b.safetensors\n")
    assert checksums.compare(tmp_path) == {"right": 0, "wrong": ["b.safetensors"], "unknown": ["a.safetensors"]}


def test_checksums_are_compared_on_request_alone(node: Node) -> None:
    manifest = bundles.bundle(node.folder / "one", port=node.port)
    model = node.folder / "model"
    model.mkdir()
    (model / "config.json").write_text("{}")
    (model / "SHA256SUMS").write_text(f"{WRONG}  config.json\n")
    manifest["model"]["path"] = str(model)
    assert node.do("preflight", manifest=manifest)["problems"] == []
    (problem,) = node.do("preflight", manifest=manifest, checksums=True)["problems"]
    assert problem["message"] == f"the sha256 of 1 file (config.json) of {model} is not the one that came with it"


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        (" GPU0\tX\tOK\n GPU1\tOK\tX\n", "ok"),
        (" GPU0\tX\tOK\tCNS\n GPU1\tOK\tX\tOK\n GPU2\tCNS\tOK\tX\n", "unsupported"),
        (" GPU0\tX\n", None),
        (" GPU0\tX\tU\n GPU1\tU\tX\n", None),
    ],
)
def test_the_driver_says_whether_cards_reach_one_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, rows: str, told: str | None
) -> None:
    legend = "\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n  CNS  = Chipset not supported\n"
    program = tmp_path / "nvidia-smi"
    program.write_text(f"#!/bin/sh\ncat <<'END'\n \tGPU0\tGPU1\t\n{rows}{legend}END\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    assert gpus.p2p() == told


def test_a_card_of_another_deployment_is_told_whether_that_runs_or_not(node: Node) -> None:
    manifest = bundles.bundle(node.folder / "one", port=node.port)
    (node.folder / "one/manifest.json").write_text(json.dumps({**manifest, "devices": [0, 1]}))
    node.do("install", bundles.archive(node.folder / "one"))
    node.do("switch", digest=manifest["digest"])
    assert node.do("wait", limit_s=20, confirm=True)["state"] == "ready"
    pearl = {**bundles.bundle(node.folder / "two", name="pearl", port=node.port + 1), "devices": [1, 2]}
    found = node.do("preflight", manifest=pearl, name="pearl")
    assert [one["message"] for one in found["problems"]] == ["card 1 belongs to flash too, which runs here"]
    node.do("stop")
    found = node.do("preflight", manifest=pearl, name="pearl")
    assert found["problems"] == []
    told = "card 1 belongs to flash too, which is deployed here and does not run now"
    assert told in [one["message"] for one in found["warnings"]]


def test_a_port_is_told_with_the_deployment_of_ours_that_has_it(node: Node) -> None:
    node.apply()
    pearl = bundles.bundle(node.folder / "two", name="pearl", port=node.port)
    found = node.do("preflight", manifest=pearl, name="pearl")
    (taken,) = [one for one in found["problems"] if one["check"] == "ports"]
    assert (f"port {node.port} is taken by pid" in taken["message"], taken["other"]) == (True, "flash")
