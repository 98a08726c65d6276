"""Patches in the venv itself: a transaction with an owner, and back again byte for byte."""

import fcntl
import hashlib
import os
import shutil
import signal
import subprocess
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import toys

from dsv4deploy.model.trouble import Trouble
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


def test_a_wheel_is_never_laid_into_a_venv(engine: Path, tmp_path: Path) -> None:
    folder = tmp_path / "patches/built"
    folder.mkdir(parents=True)
    built = toys.wheel(folder)
    digest = hashlib.sha256(built.read_bytes()).hexdigest()
    (folder / "patch.yaml").write_text(
        f"name: built\nsummary: a build\nkind: wheel\nfits: {{package: sglang, versions: '==0.5.23'}}\n"
        f"wheel: {{file: {built.name}, sha256: {digest}}}\ntoggle: {{name: TOY_MMA}}\n"
    )
    with pytest.raises(Trouble, match="never laid into a venv"):
        kernels.act("install", bundle_of(tmp_path, engine, "built"))
