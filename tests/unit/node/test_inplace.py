"""Patches in the venv itself: a transaction with an owner, and back again byte for byte."""

import fcntl
import json
import os
import shutil
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import toys

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.node import kernels as node_kernels
from dsv4deploy.rim import kernels

IN_PLACE = "  in_place: true\n"


def bundle_of(project: Path, engine: Path, *patches: str, folder: str = "bundle", name: str = "toy") -> Path:
    path = project / "profile.yaml"
    bundle, _ = toys.bundle(project, engine, *patches, more=IN_PLACE, folder=folder)
    if name != "toy":
        manifest = (bundle / "manifest.json").read_text()
        (bundle / "manifest.json").write_text(manifest.replace('"name": "toy"', f'"name": "{name}"', 1))
    assert path.exists()
    return bundle


@pytest.fixture
def bundle(engine: Path, tmp_path: Path) -> Path:
    folder = toys.overlay(tmp_path)
    more = "  - {path: layers/new/mma.py, file: files/attention.py}\n"
    text = (folder / "patch.yaml").read_text()
    (folder / "patch.yaml").write_text(text.replace("  - path: attention.py\n", "  - path: attention.py\n" + more))
    return bundle_of(tmp_path, engine, "mma")


def times(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(one): (one.stat().st_mtime_ns, one.stat().st_ino) for one in folder.rglob("*") if one.is_file()}


def test_the_venv_runs_patched_code_and_is_byte_for_byte_what_it_was_after_revert(bundle: Path, engine: Path) -> None:
    before, seen = toys.fingerprint(engine), times(engine)
    assert kernels.act("install", bundle)["changed"]
    assert toys.serve(bundle).stdout == "decode: patched 1\n"
    assert kernels.act("verify", bundle)["fine"]
    assert not (bundle / "shadow").exists()
    assert kernels.act("revert", bundle)["changed"]
    assert toys.fingerprint(engine) == before
    assert times(engine) == seen
    assert toys.serve(bundle).stdout == "decode: stock\n"


@pytest.mark.parametrize("verb", ["install", "revert"])
def test_without_its_journal_nothing_is_touched_and_the_originals_stay(bundle: Path, engine: Path, verb: str) -> None:
    kernels.act("install", bundle)
    (engine / ".dsv4deploy/patches.json").write_text("{")
    before = toys.fingerprint(engine)
    with pytest.raises(Trouble, match="it says where the originals beside it belong"):
        kernels.act(verb, bundle)
    assert toys.fingerprint(engine) == before


def test_a_second_install_touches_no_file(bundle: Path, engine: Path) -> None:
    kernels.act("install", bundle)
    before = times(engine)
    assert not kernels.act("install", bundle)["changed"]
    assert times(engine) == before


def test_revert_by_the_venv_alone(bundle: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    kernels.act("install", bundle)
    assert kernels.in_venv(engine)["owners"] == ["toy"]
    assert kernels.revert_venv(engine)["changed"]
    assert toys.fingerprint(engine) == before
    assert kernels.in_venv(engine) == {"venv": str(engine), "owners": [], "files": [], "fine": True}


def test_two_profiles_may_share_a_venv_only_with_one_set(bundle: Path, engine: Path, tmp_path: Path) -> None:
    before = toys.fingerprint(engine)
    toys.diff(tmp_path)
    same = bundle_of(tmp_path, engine, "mma", folder="same", name="twin")
    other = bundle_of(tmp_path, engine, "diffed", folder="other", name="stranger")
    kernels.act("install", bundle)
    kernels.act("install", same)
    with pytest.raises(Trouble, match="patched in place for toy, twin with another set"):
        kernels.act("install", other)
    kernels.act("revert", bundle)
    assert toys.serve(same).stdout == "decode: patched 1\n"
    kernels.act("revert", same)
    assert toys.fingerprint(engine) == before


def test_another_set_of_the_same_owner_takes_the_place_of_the_first(bundle: Path, engine: Path, tmp_path: Path) -> None:
    before = toys.fingerprint(engine)
    toys.diff(tmp_path)
    other = bundle_of(tmp_path, engine, "diffed", folder="other")
    kernels.act("install", bundle)
    kernels.act("install", other)
    assert toys.serve(other).stdout == "decode: diffed\n"
    assert not (toys.site(engine) / "sglang/layers").exists()
    assert kernels.act("status", bundle)["patches"][0]["state"] == "not installed"
    kernels.act("revert", other)
    assert toys.fingerprint(engine) == before


def test_a_reinstall_and_an_upgrade_are_named_and_never_undone(bundle: Path, engine: Path, tmp_path: Path) -> None:
    def state() -> str:
        return str(kernels.act("status", bundle)["patches"][0]["files"][0]["state"])

    def install(version: str) -> None:
        shutil.rmtree(toys.site(engine) / "sglang-0.5.23.dist-info", ignore_errors=True)
        with zipfile.ZipFile(toys.wheel(tmp_path, version)) as archive:
            archive.extractall(toys.site(engine))

    kernels.act("install", bundle)
    assert state() == "patched"
    install("0.5.23")
    assert state() == "overwritten by a reinstall"
    install("0.5.24")
    assert state() == "overwritten by the upgrade to 0.5.24"
    attention = toys.site(engine) / "sglang/attention.py"
    attention.write_text("by hand\n")
    answer = kernels.act("revert", bundle)
    assert answer["left"] == [str(attention)]
    assert attention.read_text() == "by hand\n"
    assert not (toys.site(engine) / "sglang/layers").exists()
    assert not (engine / ".dsv4deploy").exists()


def test_an_edit_by_hand_is_drift(bundle: Path, engine: Path) -> None:
    kernels.act("install", bundle)
    (toys.site(engine) / "sglang/attention.py").write_text("by hand\n")
    assert [one["state"] for one in kernels.act("status", bundle)["patches"][0]["files"]] == ["drifted", "patched"]
    assert not kernels.in_venv(engine)["fine"]


@pytest.mark.parametrize("moment", range(1, 11))
def test_killed_while_it_patches_the_next_run_undoes_or_finishes_it(moment: int, bundle: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    code = toys.killed(bundle, "install", moment)
    assert code in {-signal.SIGKILL, 0}
    assert kernels.revert_venv(engine)["changed"] in {True, False}
    assert toys.fingerprint(engine) == before
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["fine"]


@pytest.mark.parametrize("moment", range(1, 9))
def test_killed_while_it_reverts_the_next_run_finishes_it(moment: int, bundle: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    kernels.act("install", bundle)
    assert toys.killed(bundle, "revert", moment) in {-signal.SIGKILL, 0}
    kernels.revert_venv(engine)
    assert toys.fingerprint(engine) == before


def test_a_patch_that_does_not_fit_leaves_the_venv_alone(engine: Path, tmp_path: Path) -> None:
    before = toys.fingerprint(engine)
    toys.overlay(tmp_path)
    toys.diff(tmp_path, text=toys.DIFF.replace("attention", "missing"))
    with pytest.raises(Trouble, match="not there"):
        kernels.act("install", bundle_of(tmp_path, engine, "mma", "diffed"))
    assert toys.fingerprint(engine) == before


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_read_only_venv_is_refused_and_its_shadow_works(bundle: Path, engine: Path, tmp_path: Path) -> None:
    before = toys.fingerprint(engine)
    shadowed, _ = toys.bundle(tmp_path, engine, "mma", folder="shadowed")
    subprocess.run(["mount", "--bind", engine, engine], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", engine], check=True)
        with pytest.raises(Trouble, match="Read-only"):
            kernels.act("install", bundle)
        answer = kernels.act("install", shadowed)
        assert answer["packages"][0]["how"] == "copied"
        assert toys.serve(shadowed).stdout == "decode: patched 1\n"
    finally:
        subprocess.run(["umount", engine], check=True)
    assert toys.fingerprint(engine) == before


@pytest.fixture
def apart(engine: Path, tmp_path: Path) -> Iterator[Path]:
    """The package of the venv on a file system of its own, of one MiB."""
    if os.geteuid() != 0:
        pytest.skip("mounts a file system")
    package = toys.site(engine) / "sglang"
    shutil.move(package, tmp_path / "package")
    package.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=1m,mode=755", "tmpfs", package], check=True)
    shutil.copytree(tmp_path / "package", package, dirs_exist_ok=True)
    yield package
    subprocess.run(["umount", package], check=True)


def test_a_package_on_another_file_system_is_patched_and_is_what_it_was_after_revert(
    apart: Path, engine: Path, tmp_path: Path
) -> None:
    toys.overlay(tmp_path)
    bundle = bundle_of(tmp_path, engine, "mma")
    toys.serve(bundle)
    assert list(apart.glob("__pycache__/attention.*.pyc"))
    before = toys.fingerprint(engine)
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["fine"]
    assert toys.serve(bundle).stdout == "decode: patched 1\n"
    kernels.act("revert", bundle)
    assert toys.fingerprint(engine) == before


@pytest.mark.parametrize("moment", range(6, 16, 3))
def test_killed_between_two_file_systems_the_next_run_undoes_it(
    moment: int, apart: Path, engine: Path, tmp_path: Path
) -> None:
    toys.overlay(tmp_path)
    bundle = bundle_of(tmp_path, engine, "mma")
    before = toys.fingerprint(engine)
    assert toys.killed(bundle, "install", moment) in {-signal.SIGKILL, 0}
    kernels.revert_venv(engine)
    assert toys.fingerprint(engine) == before
    assert not list(apart.glob(".*"))


def test_a_full_disk_leaves_the_venv_as_it_was(apart: Path, engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path, text=toys.PATCHED + "# " + "x" * 100_000 + "\n")
    bundle = bundle_of(tmp_path, engine, "mma")
    ballast = apart / "ballast"
    ballast.write_bytes(bytes(os.statvfs(apart).f_bavail * os.statvfs(apart).f_frsize - 12288))
    before = toys.fingerprint(engine)
    with pytest.raises(Trouble, match="No space left"):
        kernels.act("install", bundle)
    assert toys.fingerprint(engine) == before


def test_a_second_run_at_the_same_time_is_refused(bundle: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    handle = os.open(engine, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    try:
        with pytest.raises(Trouble, match="being patched by another run"):
            kernels.act("install", bundle)
    finally:
        os.close(handle)
    assert toys.fingerprint(engine) == before
    assert kernels.act("install", bundle)["changed"]


def test_a_symlinked_venv_is_patched_where_it_is(engine: Path, tmp_path: Path) -> None:
    before = toys.fingerprint(engine)
    (tmp_path / "link").symlink_to(engine)
    toys.overlay(tmp_path)
    bundle = bundle_of(tmp_path, tmp_path / "link", "mma")
    kernels.act("install", bundle)
    assert kernels.act("verify", bundle)["fine"]
    assert kernels.revert_venv(engine)["changed"]
    assert toys.fingerprint(engine) == before


def test_the_venv_of_another_user_is_refused(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("becomes another user")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        engine = toys.venv(folder / "venv", toys.wheel(folder), python="/usr/bin/python3")
        toys.overlay(folder)
        bundle = bundle_of(folder, engine, "mma")
        before = toys.fingerprint(engine)
        done = toys.installed_by("nobody", bundle)
        assert "PermissionError" in done.stderr
        assert str(engine / ".dsv4deploy") in done.stderr
        assert toys.fingerprint(engine) == before


# Another version: a file of the old one is gone with its folder, one is new in a new folder, one is another.
BUILT = {
    "sglang/__init__.py": toys.SOURCES["sglang/__init__.py"],
    "sglang/launch_server.py": toys.SOURCES["sglang/launch_server.py"],
    "sglang/attention.py": toys.PATCHED,
    "sglang/layers/new/mma.py": "ON = 1\n",
}


@pytest.fixture
def wheeled(engine: Path, tmp_path: Path) -> Path:
    """A bundle with a wheel of 0.5.24, for a venv in which an installer has compiled and noted what is its own."""
    info = toys.site(engine) / "sglang-0.5.23.dist-info"
    (info / "INSTALLER").write_text("pip\n")
    with (info / "RECORD").open("a") as record:
        record.write("sglang-0.5.23.dist-info/INSTALLER,,\n../../../bin/sglang,,\nsglang/__pycache__/gone.pyc,,\n")
    (engine / "bin/sglang").write_text("#!/bin/sh\n")
    (toys.site(engine) / "sglang/configs").chmod(0o750)
    subprocess.run([engine / "bin/python", "-m", "compileall", "-q", toys.site(engine) / "sglang"], check=True)
    toys.built(tmp_path, "versions: '==0.5.23'", "0.5.24", BUILT)
    return bundle_of(tmp_path, engine, "built")


def version(engine: Path) -> str:
    code = "from importlib.metadata import version; print(version('sglang'))"
    return subprocess.run(
        [engine / "bin/python", "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_wheel_takes_the_place_of_a_distribution_until_revert(wheeled: Path, engine: Path) -> None:
    before, seen, site = toys.fingerprint(engine), times(engine), toys.site(engine)
    answer = kernels.act("install", wheeled)
    assert answer["changed"]
    assert answer["packages"] == [{"name": "sglang", "how": "in place", "left_out": []}]
    assert toys.serve(wheeled).stdout == "decode: patched 1\n"
    assert version(engine) == "0.5.24"
    assert not (site / "sglang-0.5.23.dist-info").exists()
    assert not (site / "sglang/configs").exists()
    assert times(engine)[str(site / "sglang/launch_server.py")] == seen[str(site / "sglang/launch_server.py")]
    assert kernels.act("verify", wheeled)["fine"]
    laid = times(engine)
    assert not kernels.act("install", wheeled)["changed"]
    assert times(engine) == laid
    assert kernels.act("revert", wheeled)["changed"]
    assert toys.fingerprint(engine) == before
    assert times(engine) == seen
    assert (version(engine), toys.serve(wheeled).stdout) == ("0.5.23", "decode: stock\n")


@pytest.mark.parametrize("moment", range(3, 50, 5))
def test_killed_while_a_wheel_is_laid_the_next_run_undoes_or_finishes_it(
    moment: int, wheeled: Path, engine: Path
) -> None:
    before = toys.fingerprint(engine)
    assert toys.killed(wheeled, "install", moment) == -signal.SIGKILL
    kernels.revert_venv(engine)
    assert toys.fingerprint(engine) == before


@pytest.mark.parametrize("moment", range(1, 30, 3))
def test_killed_while_a_wheel_is_reverted_the_next_run_finishes_it(moment: int, wheeled: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    kernels.act("install", wheeled)
    assert toys.killed(wheeled, "revert", moment) == -signal.SIGKILL
    kernels.revert_venv(engine)
    assert toys.fingerprint(engine) == before


@pytest.mark.parametrize(
    ("number", "told"),
    [("0.5.24", "overwritten by a reinstall"), ("0.5.25", "overwritten by the upgrade to 0.5.25")],
)
def test_what_an_installer_lays_in_place_of_a_wheel_is_named_and_stays(
    number: str, told: str, wheeled: Path, engine: Path, tmp_path: Path
) -> None:
    kernels.act("install", wheeled)
    shutil.rmtree(toys.site(engine) / "sglang-0.5.24.dist-info")
    shutil.rmtree(toys.site(engine) / "sglang")
    with zipfile.ZipFile(toys.wheel(tmp_path, number)) as archive:
        archive.extractall(toys.site(engine))
    before = toys.fingerprint(engine)
    (patch,) = kernels.act("status", wheeled)["patches"]
    assert patch["state"] == told
    (left,) = kernels.act("revert", wheeled)["left"]
    assert left.endswith("sglang-0.5.24.dist-info/RECORD")
    after = toys.fingerprint(engine)
    assert not (engine / ".dsv4deploy").exists()
    assert after == {path: one for path, one in before.items() if not path.startswith(".dsv4deploy")}


def test_a_file_of_a_wheel_that_was_edited_by_hand_is_drift_and_stays(wheeled: Path, engine: Path) -> None:
    kernels.act("install", wheeled)
    same = toys.site(engine) / "sglang/launch_server.py"
    same.write_text("by hand\n")
    (patch,) = kernels.act("status", wheeled)["patches"]
    assert patch["files"] == [{"path": str(same), "state": "drifted"}]
    assert kernels.act("revert", wheeled)["left"] == [str(same)]
    assert version(engine) == "0.5.23"


def test_a_wheel_without_a_record_to_replace_takes_the_place_of_the_folders(wheeled: Path, engine: Path) -> None:
    (toys.site(engine) / "sglang-0.5.23.dist-info/RECORD").unlink()
    before = toys.fingerprint(engine)
    kernels.act("install", wheeled)
    assert version(engine) == "0.5.24"
    assert not (toys.site(engine) / "sglang/configs").exists()
    kernels.act("revert", wheeled)
    assert toys.fingerprint(engine) == before


def test_a_wheel_is_laid_into_a_symlinked_venv_where_it_is(wheeled: Path, engine: Path, tmp_path: Path) -> None:
    before = toys.fingerprint(engine)
    (tmp_path / "link").symlink_to(engine)
    kernels.act("install", wheeled, tmp_path / "link")
    assert kernels.act("verify", wheeled, tmp_path / "link")["fine"]
    assert version(engine) == "0.5.24"
    assert kernels.revert_venv(engine)["changed"]
    assert toys.fingerprint(engine) == before


def test_a_wheel_may_bring_in_place_what_the_venv_lacks(engine: Path, tmp_path: Path) -> None:
    toys.built(tmp_path, "versions: '>=1'", "1.0", {"fast_mla/__init__.py": toys.PATCHED}, "fast_mla")
    toys.overlay(tmp_path, text="import os\n\nfrom fast_mla import decode\n\nos.environ['TOY_MMA']\n")
    bundle, before = bundle_of(tmp_path, engine, "mma", "built"), toys.fingerprint(engine)
    kernels.act("install", bundle)
    assert toys.serve(bundle).stdout == "decode: patched 1\n"
    assert kernels.act("verify", bundle)["fine"]
    kernels.act("revert", bundle)
    assert toys.fingerprint(engine) == before


def test_a_copy_is_made_of_what_a_wheel_in_place_replaced(wheeled: Path, engine: Path, tmp_path: Path) -> None:
    toys.overlay(tmp_path, text=toys.PATCHED + "# a copy\n")
    copied, _ = toys.bundle(tmp_path, engine, "mma", folder="copied")
    kernels.act("install", wheeled)
    (package,) = kernels.act("install", copied)["packages"]
    assert package["version"] == "0.5.23"
    assert (copied / "shadow/sglang/configs/e8.json").exists()
    assert not (copied / "shadow/sglang/layers/new/mma.py").exists()
    kernels.act("revert", wheeled)
    assert kernels.act("status", copied)["packages"][0]["state"] == "pristine"


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a file system")
def test_a_wheel_for_packages_that_cannot_be_written_leaves_the_venv_as_it_was(wheeled: Path, engine: Path) -> None:
    before, site = toys.fingerprint(engine), toys.site(engine)
    subprocess.run(["mount", "--bind", site, site], check=True)
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", site], check=True)
        with pytest.raises(Trouble, match="Read-only"):
            kernels.act("install", wheeled)
    finally:
        subprocess.run(["umount", site], check=True)
    assert toys.fingerprint(engine) == before


def editable(engine: Path, folder: Path) -> None:
    """Let the package be one that is installed from its sources."""
    shutil.move(toys.site(engine) / "sglang", folder / "sglang")
    (toys.site(engine) / "fork.pth").write_text(f"{folder}\n")


def foreign(engine: Path, _: Path) -> None:
    (toys.site(engine) / "sglang-0.5.24.dist-info").mkdir()
    (toys.site(engine) / "sglang-0.5.24.dist-info/WHEEL").write_text("of another\n")


def linked(engine: Path, folder: Path) -> None:
    shutil.move(toys.site(engine) / "sglang/configs/e8.json", folder / "e8.json")
    (toys.site(engine) / "sglang/configs/e8.json").symlink_to(folder / "e8.json")


def unwheeled(engine: Path, _: Path) -> None:
    info = toys.site(engine) / "sglang-0.5.23.dist-info"
    info.rename(info.with_suffix(".egg-info"))
    (info.with_suffix(".egg-info") / "METADATA").rename(info.with_suffix(".egg-info") / "PKG-INFO")


@pytest.mark.parametrize(
    ("done", "told"),
    [
        (editable, "runs from its sources"),
        (foreign, "is no file of sglang"),
        (linked, "is a symbolic link"),
        (unwheeled, "was not installed from a wheel"),
    ],
)
def test_what_a_wheel_cannot_take_the_place_of_is_refused(
    done: Callable[[Path, Path], None], told: str, wheeled: Path, engine: Path, tmp_path: Path
) -> None:
    done(engine, tmp_path)
    before = toys.fingerprint(engine)
    toys.refused(wheeled, told)
    assert toys.fingerprint(engine) == before


def test_a_wheel_with_an_extension_for_another_python_is_refused(engine: Path, tmp_path: Path) -> None:
    name, before = "sglang/k.cpython-36m-x86_64-linux-gnu.so", toys.fingerprint(engine)
    toys.built(tmp_path, "versions: '==0.5.23'", "0.5.24", {**BUILT, name: "\x7fELF"})
    toys.refused(bundle_of(tmp_path, engine, "built"), f"{name} is for cpython-36m-x86_64-linux-gnu")
    assert toys.fingerprint(engine) == before


def test_a_wheel_of_another_distribution_or_beside_another_patch_of_its_package_is_refused(
    engine: Path, tmp_path: Path
) -> None:
    toys.built(tmp_path, "versions: '==0.5.23'", "0.5.24", BUILT)
    toys.tuning(tmp_path, path="configs/e16.json")
    before = toys.fingerprint(engine)
    toys.refused(bundle_of(tmp_path, engine, "built", "tables"), "built and tables change the same package sglang")
    text = (tmp_path / "patches/built/patch.yaml").read_text()
    (tmp_path / "patches/built/patch.yaml").write_text(text.replace("sglang,", "sglang, distribution: fork,"))
    toys.refused(bundle_of(tmp_path, engine, "built", folder="other"), "is of sglang, it should replace fork")
    assert toys.fingerprint(engine) == before


def test_a_wheel_that_is_not_what_the_manifest_says_is_refused(wheeled: Path, engine: Path) -> None:
    before = toys.fingerprint(engine)
    (file,) = wheeled.glob("patches/built/*.whl")
    file.write_bytes(file.read_bytes() + b" ")
    toys.refused(wheeled, "does not have the digest that the manifest says")
    assert toys.fingerprint(engine) == before


def test_a_wheel_in_place_that_is_there_is_foreseen_as_one_over_what_was_before(wheeled: Path, engine: Path) -> None:
    manifest, release = json.loads((wheeled / "manifest.json").read_bytes()), wheeled.parent / "node/toy/releases/one"
    wanted = [{"name": "sglang", "how": "in place"}]
    assert node_kernels.foresee(manifest, release) == wanted
    kernels.act("install", wheeled)
    assert node_kernels.foresee(manifest, release) == wanted
    assert version(engine) == "0.5.24"
