"""Patches through the tool on the node: laid before anything stops, running as proved, gone with the release."""

import getpass
import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bundles
import pytest
import toys
from local_node import Node

from dsv4deploy.rim import kernels

Until = Callable[..., None]
SERVING = (
    "import runpy, sys\nfrom sglang.attention import decode\n\nprint('decode:', decode(), flush=True)\n"
    "words = sys.argv[1:]\nsys.argv[1:] = words[words.index('--host') :]\n"
    f"runpy.run_path({str(bundles.STANDIN)!r}, run_name='__main__')\n"
)


class Toy:
    """A node with a toy engine that answers HTTP."""

    def __init__(self, node: Node) -> None:
        self.node = node
        self.project = node.folder
        self.sources = {**toys.SOURCES, "sglang/launch_server.py": SERVING}
        self.engine = toys.venv(node.folder / "venv", toys.wheel(node.folder, sources=self.sources))
        # As pip leaves it; else the first start of the stock engine would.
        subprocess.run([self.engine / "bin/python", "-m", "compileall", "-q", toys.site(self.engine)], check=True)
        (node.folder / "model").mkdir()
        toys.overlay(self.project)
        toys.diff(self.project)

    def bundle(self, *patches: str, in_place: bool = False) -> Path:
        more = ("  in_place: true\n" if in_place else "") + f"server: {{host: 127.0.0.1, port: {self.node.port}}}\n"
        folder = self.project / f"bundle-{'-'.join(patches)}-{in_place}"
        text = toys.PROFILE.format(venv=self.engine, patches=", ".join(patches), user=getpass.getuser()) + more
        if not patches:
            text = text.replace("  toggles: {TOY_MMA: 1}\n", "")
        path = self.project / "profile.yaml"
        path.write_text(text.replace("name: toy", "name: flash").replace("/models/toy", str(self.project / "model")))
        toys.render(path, folder)
        return folder

    def install(self, *patches: str, in_place: bool = False) -> dict[str, Any]:
        return self.node.ask("install", bundles.archive(self.bundle(*patches, in_place=in_place)))

    def apply(self, *patches: str, in_place: bool = False) -> str:
        answer = self.install(*patches, in_place=in_place)
        assert answer["ok"], answer
        self.node.do("switch", digest=answer["digest"])
        found = self.node.do("wait", limit_s=15, confirm=True)
        assert found["state"] == "ready", found
        return str(answer["digest"])

    def says(self) -> str:
        lines = self.node.do("logs", lines=200)["lines"]
        return str([line for line in lines if line.startswith("decode:")][-1])


@pytest.fixture
def toy(node: Node) -> Toy:
    return Toy(node)


def test_a_release_runs_its_patches_and_rollback_brings_the_other_code_back(toy: Toy) -> None:
    before = toys.fingerprint(toy.engine)
    first = toy.apply()
    assert toy.says() == "decode: stock"
    toy.apply("mma")
    assert toy.says() == "decode: patched 1"
    status = toy.node.do("status")
    assert (status["drift"], status["running"]["as_written"]) == ([], True)
    proved = toy.node.do("patches-verify")
    assert proved["fine"], proved
    assert proved["running"] == [{"patch": "mma", "active": True, "told": "decode: patched 1"}]
    toy.node.do("rollback")
    assert toy.node.do("wait", limit_s=15, confirm=True)["digest"] == first
    assert toy.says() == "decode: stock"
    assert toys.fingerprint(toy.engine) == before


def test_a_patch_in_place_comes_with_its_release_and_goes_with_it(toy: Toy) -> None:
    before = toys.fingerprint(toy.engine)
    toy.apply()
    toy.apply("mma", in_place=True)
    assert toy.says() == "decode: patched 1"
    assert toy.node.do("patches-status")["place"] == "in-place"
    toy.apply("diffed", in_place=True)
    assert toy.says() == "decode: diffed"
    toy.node.do("rollback")
    toy.node.do("wait", limit_s=15, confirm=True)
    assert toy.says() == "decode: patched 1"
    toy.apply()
    assert toy.says() == "decode: stock"
    assert toys.fingerprint(toy.engine) == before


def test_a_wheel_in_place_comes_with_its_release_and_goes_with_it(toy: Toy) -> None:
    built = {path: text for path, text in toy.sources.items() if path != "sglang/configs/e8.json"}
    toys.built(toy.project, "versions: '==0.5.23'", "0.5.24", {**built, "sglang/attention.py": toys.PATCHED})
    before = toys.fingerprint(toy.engine)
    toy.apply()
    digest = toy.apply("built", in_place=True)
    assert toy.says() == "decode: patched 1"
    status = toy.node.do("status")
    assert (status["drift"], status["running"]["as_written"]) == ([], True)
    assert toy.node.do("patches-verify")["fine"]
    assert not toy.install("built", in_place=True)["changed"]
    copy = toy.node.here / "releases" / toy.apply("diffed") / "shadow/sglang"
    assert (toy.says(), (copy / "configs/e8.json").exists()) == ("decode: diffed", True)
    assert toy.node.do("patches-status")["packages"][0]["state"] == "pristine"
    assert toys.fingerprint(toy.engine) == before
    toy.node.do("rollback")
    assert toy.node.do("wait", limit_s=15, confirm=True)["digest"] == digest
    assert toy.says() == "decode: patched 1"
    toy.apply()
    assert toys.fingerprint(toy.engine) == before


def test_a_venv_that_a_release_leaves_is_as_it_was(toy: Toy) -> None:
    left, before = toy.engine, toys.fingerprint(toy.engine)
    toy.engine = Path(shutil.copytree(left, toy.project / "other", symlinks=True))
    other, toy.engine = toy.engine, left
    toy.apply("mma", in_place=True)
    toy.engine = other
    toy.apply("diffed")
    assert toy.says() == "decode: diffed"
    assert toys.fingerprint(left) == before


def test_a_copy_is_made_of_the_originals_of_a_venv_that_is_patched_in_place_until_the_switch(toy: Toy) -> None:
    before = toys.fingerprint(toy.engine)
    toy.apply("mma", in_place=True)
    toy.apply("diffed")
    assert toy.says() == "decode: diffed"
    assert toys.fingerprint(toy.engine) == before
    assert toy.node.do("status")["drift"] == []
    status = toy.node.do("patches-status")
    assert (status["fine"], status["packages"][0]["state"]) == (True, "pristine"), status
    assert not toy.install("diffed")["changed"]


def test_a_copy_holds_nothing_that_a_patch_in_place_adds_and_all_that_it_removes(toy: Toy) -> None:
    folder = toys.diff(toy.project, "adds", toys.DIFF + "--- /dev/null\n+++ b/sglang/new.py\n@@ -0,0 +1 @@\n+NEW = 1\n")
    table = toy.sources["sglang/configs/e8.json"].rstrip("\n")
    removed = f"--- a/sglang/configs/e8.json\n+++ /dev/null\n@@ -1 +0,0 @@\n-{table}\n"
    (folder / "change.diff").write_text((folder / "change.diff").read_text() + removed)
    package = toys.site(toy.engine) / "sglang"
    listed = {path.relative_to(package) for path in package.rglob("*.[pj]*") if "__pycache__" not in path.parts}
    toy.apply("adds", in_place=True)
    assert (package / "new.py").exists()
    assert not (package / "configs/e8.json").exists()
    copy = toy.node.here / "releases" / toy.apply("mma") / "shadow/sglang"
    assert {path.relative_to(copy) for path in copy.rglob("*.[pj]*") if "__pycache__" not in path.parts} == listed
    assert toy.node.do("status")["drift"] == []


def neighbour(toy: Toy, *patches: str, in_place: bool = False) -> None:
    """Another deployment on the node, whose current release has these patches."""
    manifest = json.loads((toy.bundle(*patches, in_place=in_place) / "manifest.json").read_bytes())
    (toy.node.root / "pearl/current").mkdir(parents=True)
    (toy.node.root / "pearl/current/manifest.json").write_text(json.dumps({**manifest, "name": "pearl"}))


def told(toy: Toy, *patches: str, in_place: bool = False) -> str:
    """What the node says beforehand against these patches."""
    manifest = json.loads((toy.bundle(*patches, in_place=in_place) / "manifest.json").read_bytes())
    problems = toy.node.do("observe", facts=False, manifests=[manifest])["wanted"]["flash"]["problems"]
    return "".join(one["message"] for one in problems if one["check"] == "patches")


@pytest.mark.parametrize("theirs", [(), ("diffed",)])
def test_a_venv_that_a_neighbour_runs_as_installed_is_not_patched_in_place(toy: Toy, theirs: tuple[str, ...]) -> None:
    neighbour(toy, *theirs)
    assert "pearl runs" in told(toy, "mma", in_place=True)
    assert told(toy, "mma") == ""
    assert told(toy) == ""


def test_neighbours_with_the_same_patches_in_place_share_a_venv(toy: Toy) -> None:
    neighbour(toy, "mma", in_place=True)
    assert told(toy, "mma", in_place=True) == ""


@pytest.mark.parametrize("ours", [(), ("diffed",)])
def test_a_venv_that_is_patched_in_place_for_a_neighbour_is_not_used_as_if_it_were_stock(
    toy: Toy, ours: tuple[str, ...]
) -> None:
    toy.apply("mma", in_place=True)
    journal = toy.engine / ".dsv4deploy/patches.json"
    journal.write_text(journal.read_text().replace('"flash"', '"pearl"'))
    assert "is patched in place for pearl" in told(toy, *ours)
    if ours:
        assert toy.install(*ours)["error"]["word"] == "patch-shared"


@pytest.mark.parametrize("in_place", [False, True])
def test_sources_that_a_neighbour_patches_in_place_from_another_venv_are_not_shared(toy: Toy, in_place: bool) -> None:
    package = toys.site(toy.engine) / "sglang"
    fork = toy.project / "fork"
    fork.mkdir()
    package.rename(fork / "sglang")
    (toys.site(toy.engine) / "fork.pth").write_text(f"{fork}\n")
    other, ours = Path(shutil.copytree(toy.engine, toy.project / "other", symlinks=True)), toy.engine
    assert told(toy, "mma", in_place=in_place) == ""
    toy.engine = other
    neighbour(toy, "mma", in_place=True)
    kernels.act("install", toy.bundle("mma", in_place=True))
    toy.engine = ours
    assert "is patched in place for pearl, through" in told(toy, "mma", in_place=in_place)


def test_a_release_without_patches_shows_that_its_venv_was_patched_in_place_for_a_neighbour(toy: Toy) -> None:
    toy.apply()
    bundle = toy.bundle("mma", in_place=True)
    manifest = bundle / "manifest.json"
    manifest.write_text(manifest.read_text().replace('"name": "flash"', '"name": "pearl"', 1))
    kernels.act("install", bundle)
    drift = {"path": str(toy.engine), "what": "patched in place for pearl"}
    assert toy.node.do("status")["drift"] == [drift]
    assert toy.node.do("patches-status")["fine"] is False
    kernels.act("revert", bundle)
    assert toy.node.do("status")["drift"] == []


def test_a_venv_that_is_gone_keeps_nobody_from_leaving_it(toy: Toy) -> None:
    left = toy.engine
    other = Path(shutil.copytree(left, toy.project / "other", symlinks=True))
    toy.apply("mma", in_place=True)
    toy.engine = other
    answer = toy.install("diffed")
    shutil.rmtree(left)
    toy.node.do("switch", digest=answer["digest"])
    assert toy.node.do("wait", limit_s=15, confirm=True)["state"] == "ready"
    assert toy.says() == "decode: diffed"


def test_a_start_that_fails_after_a_patch_takes_the_patch_back(toy: Toy) -> None:
    before = toys.fingerprint(toy.engine)
    first = toy.apply()
    folder = toys.overlay(toy.project, "broken", "raise SystemExit('this kernel is broken')\n")
    assert folder.is_dir()
    toys.built(
        toy.project, "versions: '==0.5.23'", "0.5.24", {**toy.sources, "sglang/attention.py": "raise SystemExit(1)\n"}
    )
    for patch, in_place in (("broken", False), ("broken", True), ("built", True)):
        answer = toy.install(patch, in_place=in_place)
        toy.node.do("switch", digest=answer["digest"])
        assert toy.node.do("wait", limit_s=15, confirm=True)["state"] == "failed"
        assert toy.node.do("restore")["to"] == first
        toy.node.do("wait", limit_s=15)
        assert toy.says() == "decode: stock"
        assert toys.fingerprint(toy.engine) == before


def test_a_patch_that_does_not_fit_stops_nothing(toy: Toy) -> None:
    first = toy.apply()
    pid = toy.node.do("status")["running"]["pid"]
    (toys.site(toy.engine) / "sglang/attention.py").write_text("def decode():\n    return 'other'\n")
    answer = toy.install("diffed")
    assert not answer["ok"]
    assert answer["error"]["word"] == "patch-misfit"
    status = toy.node.do("status")
    assert (status["current"], status["running"]["pid"]) == (first, pid)


def test_what_laying_will_take_is_known_before(toy: Toy) -> None:
    def foreseen(*patches: str, in_place: bool = False) -> Any:
        bundle = toy.bundle(*patches, in_place=in_place)
        manifest = json.loads((bundle / "manifest.json").read_bytes())
        return toy.node.do("observe", facts=False, manifests=[manifest])["wanted"]["flash"]

    copy = {"name": "sglang", "how": "linked", "files": 4}
    size = sum(len(text) for path, text in toy.sources.items() if path.startswith("sglang/"))
    assert foreseen("mma")["patches"] == [{**copy, "bytes": size, "seconds": None}]
    toy.apply("mma")
    assert foreseen("mma")["patches"] == []
    assert foreseen("diffed")["patches"][0]["seconds"] < 60
    assert foreseen("diffed", in_place=True)["patches"] == [{"name": "sglang", "how": "in place"}]
    toy.apply("mma", in_place=True)
    journal = toy.engine / ".dsv4deploy/patches.json"
    journal.write_text(journal.read_text().replace('"flash"', '"other"'))
    (problem,) = [one for one in foreseen("diffed", in_place=True)["problems"] if one["check"] == "patches"]
    assert "is patched in place for other with another set" in problem["message"]


def test_drift_is_seen_and_a_process_from_before_it_is_not_as_written(toy: Toy) -> None:
    digest = toy.apply("mma")
    copy = toy.node.here / "releases" / digest / "shadow/sglang/attention.py"
    copy.write_text("def decode():\n    return 'by hand'\n")
    status = toy.node.do("status")
    assert {"path": "sglang/attention.py", "what": "drifted"} in status["drift"]
    assert status["running"]["as_written"] is False
    toy.install("mma")
    assert toy.node.do("status")["drift"] == []
    assert toy.node.do("patches-status")["fine"]


def test_without_its_shadow_a_release_is_not_switched_to(toy: Toy) -> None:
    toy.apply()
    answer = toy.install("mma")
    (toy.node.here / "releases" / answer["digest"] / "shadow/sglang/attention.py").unlink()
    refused = toy.node.ask("switch", digest=answer["digest"])
    assert refused["error"]["message"] == "patched file sglang/attention.py is missing"
    assert toy.says() == "decode: stock"


def test_patches_of_a_running_server_are_not_reverted_under_it(toy: Toy) -> None:
    toy.apply("mma")
    assert "runs its patched code" in toy.node.ask("patches-revert")["error"]["message"]
    toy.node.do("stop")
    assert toy.node.do("patches-revert")["changed"]
    assert toy.node.do("patches-status")["patches"][0]["state"] == "not installed"


OLD = Path.home() / ".pyenv/versions/3.8.18/bin/python"


@pytest.mark.skipif(not OLD.exists(), reason="no Python 3.8 here")
def test_it_works_with_an_old_python_on_the_node(toy: Toy) -> None:
    toy.node.python = str(OLD)
    answer = toy.install("mma")
    assert answer["ok"], answer
    assert toy.node.do("patches-verify", digest=answer["digest"])["fine"]
