"""What stands in the way of a release, told before anything is touched."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import bundles
import pytest
from local_node import Node

from dsv4deploy.node import checksums, gpus, pins
from dsv4deploy.node.sites import sites

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


def test_packages_elsewhere_are_found_as_python_finds_them(tmp_path: Path) -> None:
    python = venv_with(tmp_path / "venv", ("torch==2.11.0", "xgrammar==0.1.32", "numpy==2.3.5"), numpy="2.3.5")
    overlay, source = tmp_path / "overlay", tmp_path / "source"
    (overlay / "torch-2.11.0+cu130.dist-info").mkdir(parents=True)
    (overlay / "numpy-1.26.4.dist-info").mkdir()  # later in the search, so that the venv's own counts
    (source / "xgrammar.egg-info").mkdir(parents=True)
    (source / "xgrammar.egg-info/PKG-INFO").write_text("Metadata-Version: 2.1\nName: xgrammar\nVersion: 0.1.32\n")
    site = tmp_path / "venv/lib/python3.12/site-packages"
    (site / "a.pth").write_text(f"# an overlay\n\n{overlay}\n/not/there\n")
    (site / "easy-install.pth").write_text("../../../../source\n")
    assert pins.unmet(python) == []


def test_the_base_of_an_environment_counts_where_it_is_let_in(tmp_path: Path) -> None:
    python = venv_with(tmp_path / "venv", ("torch==2.11.0",))
    base = tmp_path / "usr/local/lib/python3.12/dist-packages"
    (base / "torch-2.11.0.dist-info").mkdir(parents=True)
    config = f"home = {tmp_path}/usr/bin\ninclude-system-site-packages = "
    (tmp_path / "venv/pyvenv.cfg").write_text(f"{config}false\n")
    assert pins.unmet(python) == ["torch==2.11.0 (not installed)"]
    (tmp_path / "venv/pyvenv.cfg").write_text(f"{config}true\n")
    assert pins.unmet(python) == []
    (tmp_path / "venv/pyvenv.cfg").write_text("include-system-site-packages = true\n")
    assert pins.unmet(python) == ["torch==2.11.0 (not installed)"], "nobody says where its base is"


def test_code_that_may_name_further_folders_is_told_and_not_run(tmp_path: Path) -> None:
    python = venv_with(tmp_path, ("torch==2.11.0",))
    file = tmp_path / "lib/python3.12/site-packages/magic.pth"
    file.write_text("import sys; sys.path.append('/srv/torch')\n")
    assert pins.unmet(python) == [f"torch==2.11.0 (not found; the code in {file} was not run)"]
    file.rename(file.with_name("distutils-precedence.pth"))
    assert pins.unmet(python) == ["torch==2.11.0 (not installed)"]


def test_the_search_is_that_of_a_real_environment(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    config = tmp_path / "venv/pyvenv.cfg"
    config.write_text(config.read_text().replace("packages = false", "packages = true"))
    (tmp_path / "overlay").mkdir()
    [site] = (tmp_path / "venv").glob("lib/python3*/site-packages")
    (site / "overlay.pth").write_text(f"{tmp_path}/overlay\n")
    python = str(tmp_path / "venv/bin/python")
    script = "import json, os, sys; print(json.dumps([one for one in sys.path if os.path.isdir(one)]))"
    path = json.loads(subprocess.run([python, "-Ic", script], capture_output=True, check=True).stdout)
    assert [str(one) for one in sites(python).folders] == [
        one for one in path if "-packages" in one or "overlay" in one
    ]


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
