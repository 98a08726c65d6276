"""A shadow package: the venv keeps every byte, the release runs its own patched copy, and nothing is half done."""

import errno
import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import zipfile
from pathlib import Path

import pytest
import toys

from dsv4deploy.rim import bundles, kernels


@pytest.fixture
def bundle(engine: Path, tmp_path: Path) -> Path:
    toys.overlay(tmp_path)
    return toys.bundle(tmp_path, engine, "mma")[0]


def inodes(folder: Path) -> dict[str, tuple[int, int, int]]:
    return {
        str(path.relative_to(folder)): (seen.st_ino, seen.st_mtime_ns, seen.st_mode)
        for path in folder.rglob("*")
        for seen in [path.lstat()]
    }


def test_the_patched_copy_runs_and_the_venv_keeps_every_byte(bundle: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    answer = kernels.act("install", bundle)
    assert answer["packages"][0]["how"] == "linked"
    assert toys.serve(bundle).stdout == "decode: patched 1\n"
    assert kernels.act("verify", bundle)["fine"]
    assert toys.fingerprint(engine) == before


def test_without_its_patches_a_release_does_not_start(bundle: Path) -> None:
    done = toys.serve(bundle)
    assert done.returncode == 78
    assert "not installed" in done.stderr


def test_only_the_patched_file_takes_space(bundle: Path, engine: Path) -> None:
    kernels.act("install", bundle)
    linked = {
        path.name
        for path in (bundle / "shadow/sglang").rglob("*.[pj]*[yn]")
        if path.is_file() and path.stat().st_nlink > 1
    }
    assert linked == {"__init__.py", "launch_server.py", "e8.json"}


def test_a_second_install_touches_no_file(bundle: Path) -> None:
    assert kernels.act("install", bundle)["changed"]
    before = inodes(bundle)
    assert not kernels.act("install", bundle)["changed"]
    assert inodes(bundle) == before


def test_revert_leaves_the_venv_and_the_bundle_as_they_were(bundle: Path, engine: Path) -> None:
    before = toys.fingerprint(engine), toys.fingerprint(bundle)
    kernels.act("install", bundle)
    assert kernels.act("revert", bundle)["changed"]
    assert (toys.fingerprint(engine), toys.fingerprint(bundle)) == before
    assert not kernels.act("revert", bundle)["changed"]


def test_metadata_and_entry_points_stay(bundle: Path, engine: Path) -> None:
    kernels.act("install", bundle)
    code = (
        "from importlib import metadata as m; d = m.distribution('sglang');"
        "print(d.version, [e.value for e in d.entry_points], d.entry_points['sglang'].load().__module__)"
    )
    out = subprocess.run(
        [engine / "bin/python", "-c", code],
        env={"PYTHONPATH": str(bundle / "shadow")},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert out == "0.5.23 ['sglang.launch_server:main'] sglang.launch_server\n"


HOOKS = {
    "a .pth file with a folder": ("fork.pth", "{fork}\n"),
    "a .pth file that puts itself first": ("fork.pth", "import sys; sys.path.insert(0, {fork!r})\n"),
    "an editable install with a finder at the end": (
        "__editable___fork.pth",
        "import sys; sys.path.append({fork!r}); import _fork_finder\n",
    ),
    "an editable install with a finder at the front": ("_fork.pth", "import _fork_first\n"),
}
FINDER = """
import sys
from importlib.util import spec_from_file_location
class Finder:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "sglang":
            return spec_from_file_location(name, {fork!r} + "/sglang/__init__.py", submodule_search_locations=[{fork!r} + "/sglang"])
        if name == "sglang.attention":
            return spec_from_file_location(name, {fork!r} + "/sglang/attention.py")
{how}
"""


@pytest.mark.parametrize("hook", HOOKS)
@pytest.mark.parametrize("installed", [True, False], ids=["beside site-packages", "alone"])
def test_it_wins_over(hook: str, installed: bool, engine: Path, tmp_path: Path) -> None:
    site, fork = toys.site(engine), tmp_path / "fork/python"
    shutil.copytree(site / "sglang", fork / "sglang")
    if not installed:
        shutil.rmtree(site / "sglang")
    name, text = HOOKS[hook]
    (site / name).write_text(text.format(fork=str(fork)))
    for module, how in [
        ("_fork_finder", "sys.meta_path.append(Finder)"),
        ("_fork_first", "sys.meta_path.insert(0, Finder)"),
    ]:
        (site / f"{module}.py").write_text(FINDER.format(fork=str(fork), how=how))
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    kernels.act("install", bundle)
    answer = kernels.act("verify", bundle)
    assert answer["fine"], answer
    assert toys.serve(bundle).stdout == "decode: patched 1\n"


def test_the_sitecustomize_of_others_still_runs(engine: Path, tmp_path: Path) -> None:
    site, fork = toys.site(engine), tmp_path / "fork"
    shutil.copytree(site / "sglang", fork / "sglang")
    (site / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(fork)!r})\n")
    (site / "sitecustomize.py").write_text('print("theirs")\n')
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    kernels.act("install", bundle)
    assert (bundle / "shadow/sitecustomize.py").exists()
    # Some distributions have one of their own that hides it.
    without = subprocess.run([engine / "bin/python", "-c", ""], capture_output=True, text=True, check=True).stdout
    assert toys.serve(bundle).stdout == f"{without}decode: patched 1\n"


def test_what_cannot_be_won_over_is_refused(engine: Path, tmp_path: Path) -> None:
    site = toys.site(engine)
    (site / "first.pth").write_text(f"import sys; sys.path.insert(0, {str(site)!r})\n")
    (site / "sitecustomize.py").write_text("")
    toys.overlay(tmp_path)
    toys.refused(toys.bundle(tmp_path, engine, "mma")[0], "is imported from", "whatever comes first in PYTHONPATH")


def test_two_releases_with_different_patches_never_meet(engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    toys.diff(tmp_path)
    one, _ = toys.bundle(tmp_path, engine, "mma", folder="one")
    two, _ = toys.bundle(tmp_path, engine, "diffed", folder="two")
    kernels.act("install", one)
    kernels.act("install", two)
    assert toys.serve(one).stdout == "decode: patched 1\n"
    assert toys.serve(two).stdout == "decode: diffed\n"
    assert subprocess.run(
        [engine / "bin/python", "-m", "sglang.launch_server"], capture_output=True, text=True, check=True, cwd=tmp_path
    ).stdout == "decode: stock\n"  # fmt: skip


def test_a_wheel_takes_the_place_of_a_distribution_and_its_metadata(engine: Path, tmp_path: Path) -> None:
    sources = {**toys.SOURCES, "sglang/attention.py": toys.PATCHED}
    toys.built(tmp_path, "versions: '==0.5.23'", "0.5.23+sm120", sources, "sglang")
    bundle, _ = toys.bundle(tmp_path, engine, "built")
    kernels.act("install", bundle)
    assert toys.serve(bundle).stdout == "decode: patched 1\n"
    code = "from importlib.metadata import version; print(version('sglang'))"
    environment = {"PYTHONPATH": str(bundle / "shadow")}
    done = subprocess.run(
        [engine / "bin/python", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout == "0.5.23+sm120\n"
    assert kernels.act("verify", bundle)["fine"]


def test_a_wheel_for_other_files_than_are_installed_is_refused(engine: Path, tmp_path: Path) -> None:
    toys.built(tmp_path, f"files: {{attention.py: {'a' * 64}}}", "0.5.23+sm120", toys.SOURCES, "sglang")
    toys.refused(toys.bundle(tmp_path, engine, "built")[0], "attention.py has SHA-256", "the patch was made for aaaa")


@pytest.mark.parametrize(
    ("text", "reads"),
    [
        ("import os\n\nON = os.environ.get('TOY_MMA')\n", True),
        ("class Envs:\n    TOY_MMA = 0\n", True),
        ("from os import environ as envs\n\nON = lambda: envs.TOY_MMA\n", True),
        ("# TOY_MMA is for later\n", False),
        ("ON = 'TOY_MMA_2'\n", False),
    ],
)
def test_a_reader_of_a_toggle_is_code_that_names_it(engine: Path, tmp_path: Path, text: str, reads: bool) -> None:
    toys.overlay(tmp_path, text=text + "\n\ndef decode():\n    return 'another'\n")
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["imports"][0]["reader"] is reads


@pytest.mark.parametrize("reader", [None, "kernel.so"])
def test_a_toggle_of_a_wheel_is_read_by_any_of_its_files(engine: Path, tmp_path: Path, reader: str | None) -> None:
    more = {f"sglang/{reader}": "\0getenv\0TOY_MMA\0"} if reader else {}
    sources = {**toys.SOURCES, "sglang/attention.py": "def decode():\n    return 'another'\n", **more}
    toys.built(tmp_path, "versions: '==0.5.23'", "0.5.23+sm120", sources, "sglang")
    bundle, _ = toys.bundle(tmp_path, engine, "built")
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["imports"][0]["reader"] is bool(reader)


def test_a_wheel_may_bring_a_package_that_the_venv_lacks(engine: Path, tmp_path: Path) -> None:
    toys.built(tmp_path, "versions: '>=1'", "1.0", {"fast_mla/__init__.py": toys.PATCHED}, "fast_mla")
    toys.overlay(tmp_path, text="import os\n\nfrom fast_mla import decode\n\nos.environ['TOY_MMA']\n")
    bundle, _ = toys.bundle(tmp_path, engine, "mma", "built")
    before = toys.fingerprint(engine)
    kernels.act("install", bundle)
    assert toys.serve(bundle).stdout == "decode: patched 1\n"
    assert kernels.act("verify", bundle)["fine"]
    assert not kernels.act("install", bundle)["changed"]
    kernels.act("revert", bundle)
    assert toys.fingerprint(engine) == before


def test_a_tuning_table_is_put_where_the_engine_looks(engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "patches/table"
    (folder / "files/configs").mkdir(parents=True)
    (folder / "files/configs/e16.json").write_text('{"1": {"block": 64}}\n')
    (folder / "patch.yaml").write_text(
        "name: table\nsummary: a table\nkind: tuning\nfits: {package: sglang, versions: '>=0.5'}\n"
        "files: [{path: configs/e16.json}]\ntoggle: {name: TOY_MMA}\n"
    )
    bundle, _ = toys.bundle(tmp_path, engine, "table")
    kernels.act("install", bundle)
    assert sorted(one.name for one in (bundle / "shadow/sglang/configs").iterdir()) == ["e16.json", "e8.json"]
    assert not (toys.site(engine) / "sglang/configs/e16.json").exists()


def test_another_version_in_the_venv_is_refused(engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    (toys.site(engine) / "sglang-0.5.23.dist-info").rename(toys.site(engine) / "sglang-0.5.22.dist-info")
    metadata = toys.site(engine) / "sglang-0.5.22.dist-info/METADATA"
    metadata.write_text(metadata.read_text().replace("0.5.23", "0.5.22"))
    toys.refused(bundle, "patch mma", "needs sglang ==0.5.23", "has 0.5.22")


def test_a_file_that_differs_by_one_byte_is_refused(engine: Path, tmp_path: Path) -> None:
    wanted = hashlib.sha256((toys.SOURCES["sglang/attention.py"] + "\n").encode()).hexdigest()
    toys.overlay(tmp_path, fits=f"files: {{attention.py: {wanted}}}")
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    toys.refused(bundle, "attention.py has SHA-256", wanted[:12])


def test_a_diff_that_does_not_fit_is_refused_with_its_line(engine: Path, tmp_path: Path) -> None:
    toys.diff(tmp_path, text=toys.DIFF.replace("stock", "stick"))
    bundle, _ = toys.bundle(tmp_path, engine, "diffed")
    toys.refused(bundle, "change.diff:4", "hunk 1 of python/sglang/attention.py does not fit", "line 5", "stick")


def test_a_python_or_a_library_of_another_version_is_refused(engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path, "one", fits='versions: ">=0.5", python: "<3.0"')
    toys.overlay(tmp_path, "two", fits='versions: ">=0.5", requires: {no-such-library: ">=3.4"}')
    about = tmp_path / "patches/two/patch.yaml"
    about.write_text(about.read_text().replace("- path: attention.py", "- {path: two.py, file: files/attention.py}"))
    bundle = toys.bundle(tmp_path, engine, "one", "two")[0]
    toys.refused(
        bundle, "patch one: needs Python <3.0", "patch two: needs no-such-library >=3.4, and the venv has none"
    )


def test_a_file_of_the_bundle_that_was_changed_is_refused(bundle: Path) -> None:
    (bundle / "patches/mma/files/attention.py").write_text("print('not this')\n")
    toys.refused(bundle, "does not have the digest that the manifest says")


def test_a_link_on_the_way_out_of_the_package_is_refused(engine: Path, tmp_path: Path) -> None:
    package = toys.site(engine) / "sglang"
    (tmp_path / "elsewhere").mkdir()
    (package / "layers").symlink_to(tmp_path / "elsewhere")
    folder = toys.overlay(tmp_path)
    (folder / "patch.yaml").write_text(
        (folder / "patch.yaml")
        .read_text()
        .replace("path: attention.py", "path: layers/attention.py\n    file: files/attention.py")
    )
    toys.refused(toys.bundle(tmp_path, engine, "mma")[0], "layers is a symbolic link")
    assert not list((tmp_path / "elsewhere").iterdir())


def test_a_package_that_is_not_there_is_refused(engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    shutil.rmtree(toys.site(engine) / "sglang")
    toys.refused(bundle, "finds no package sglang")


def test_a_second_run_at_the_same_time_is_refused(bundle: Path) -> None:
    handle = os.open(bundle, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        toys.refused(bundle, "another run")
    finally:
        os.close(handle)
    assert kernels.act("install", bundle)["changed"]


def test_a_symlinked_venv_is_followed(engine: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(engine)
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, tmp_path / "link", "mma")
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["fine"]
    assert toys.serve(bundle).stdout == "decode: patched 1\n"


def test_what_became_of_the_venv_since_is_told(bundle: Path, engine: Path, tmp_path: Path) -> None:
    kernels.act("install", bundle)
    package = toys.site(engine) / "sglang"

    def state() -> tuple[str, str]:
        found = kernels.act("status", bundle)["packages"][0]
        return found["state"], found["told"]

    assert state() == ("pristine", "")
    # As an editor writes: a new file in the place of the old one.
    (package / "new").write_text("edited\n")
    (package / "new").replace(package / "__init__.py")
    assert state() == ("changed", "sglang/__init__.py edited since")
    shutil.rmtree(package)
    shutil.rmtree(toys.site(engine) / "sglang-0.5.23.dist-info")
    assert state()[0] == "gone"
    with zipfile.ZipFile(toys.wheel(tmp_path, "0.5.24")) as archive:
        archive.extractall(toys.site(engine))
    assert state() == ("upgraded", "the venv has sglang 0.5.24 since, the release runs 0.5.23")
    assert toys.serve(bundle).stdout == "decode: patched 1\n"


def test_what_became_of_the_sources_of_an_editable_install_is_told(engine: Path, tmp_path: Path) -> None:
    fork = tmp_path / "fork/sglang"
    fork.parent.mkdir()
    (toys.site(engine) / "sglang").rename(fork)
    (toys.site(engine) / "fork.pth").write_text(f"{fork.parent}\n")
    info = toys.site(engine) / "sglang-0.5.23.dist-info"
    (info / "direct_url.json").write_text('{"dir_info": {"editable": true}}')
    (info / "RECORD").write_text("")
    toys.overlay(tmp_path)
    bundle, _ = toys.bundle(tmp_path, engine, "mma")
    kernels.act("install", bundle)

    def told() -> str:
        return str(kernels.act("status", bundle)["packages"][0]["told"])

    assert told() == ""
    os.utime(fork / "__init__.py")
    assert told() == "written anew with the same content"
    (fork / "new.py").write_text("")
    (fork / "attention.py").unlink()
    (fork / "attention.py").write_text("def decode():\n    return 'edited'\n")
    assert told() == "sglang/attention.py, sglang/new.py edited since"


def test_files_that_were_touched_in_the_copy_are_told_and_mended(bundle: Path) -> None:
    kernels.act("install", bundle)
    copy = bundle / "shadow/sglang"
    (copy / "attention.py").write_text(toys.SOURCES["sglang/attention.py"])
    (copy / "configs/e8.json").unlink()
    (copy / "stray.py").write_text("")
    answer = kernels.act("status", bundle)
    assert not answer["fine"]
    assert answer["patches"][0]["state"] == "pristine"
    assert {one["path"]: one["what"] for one in answer["others"]} == {
        "sglang/configs/e8.json": "missing",
        "sglang/stray.py": "added",
    }
    assert kernels.act("install", bundle)["changed"]
    assert kernels.act("verify", bundle)["fine"]


def test_an_edit_in_place_through_a_link_is_seen(bundle: Path, engine: Path) -> None:
    kernels.act("install", bundle)
    with (toys.site(engine) / "sglang/__init__.py").open("a") as file:
        file.write("# edited\n")
    answer = kernels.act("status", bundle)
    assert {"path": "sglang/__init__.py", "what": "drifted"} in answer["others"]


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_another_file_system_gets_a_copy_and_a_full_one_nothing(engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path)
    made, _ = toys.bundle(tmp_path, engine, "mma")
    disk = tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", disk], check=True)
    try:
        bundle = disk / "bundle"
        shutil.copytree(made, bundle)
        package = kernels.act("install", bundle)["packages"][0]
        assert (package["how"], package["why"]) == ("copied", os.strerror(errno.EXDEV))
        assert toys.serve(bundle).stdout == "decode: patched 1\n"
        kernels.act("revert", bundle)
        (disk / "ballast").write_bytes(bytes(os.statvfs(disk).f_bavail * os.statvfs(disk).f_frsize - 12288))
        toys.refused(bundle, "no space left")
    finally:
        subprocess.run(["umount", disk], check=True)


@pytest.mark.parametrize("moment", [1, 2, 3, 5, 7, 8, 9, 10, 11, 12])
def test_killed_at_any_moment_it_is_whole_or_not_there_and_the_next_run_mends_it(
    moment: int, bundle: Path, engine: Path
) -> None:
    before = toys.fingerprint(engine)
    assert toys.killed(bundle, "install", moment) == -signal.SIGKILL
    done = toys.serve(bundle)
    assert (done.returncode, done.stdout) in [(78, ""), (0, "decode: patched 1\n")]
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["fine"]
    assert not list(bundle.glob(".shadow*"))
    assert toys.fingerprint(engine) == before


def test_a_changed_patch_is_another_release_with_its_own_caches(engine: Path, tmp_path: Path) -> None:
    folder = toys.overlay(tmp_path)
    first, one = toys.bundle(tmp_path, engine, "mma", folder="one")
    (folder / "files/attention.py").write_text(toys.PATCHED + "# faster\n")
    second, two = toys.bundle(tmp_path, engine, "mma", folder="two")
    assert one.digest != two.digest
    caches = [
        [line for line in (b / "nccl.env").read_text().splitlines() if "TRITON_CACHE_DIR" in line]
        for b in (first, second)
    ]
    assert caches[0] != caches[1]
    assert bundles.read(first)["patches/mma/files/attention.py"] == toys.PATCHED.encode()
