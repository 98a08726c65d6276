"""What compiled code is for is known or said to be unknown; what may not be linked is copied."""

import errno
import json
import os
import tempfile
from pathlib import Path

import pytest
import toys

from dsv4deploy.node.patchset import runs_on
from dsv4deploy.rim import kernels


def extension(project: Path, engine: Path, name: str, more: str = "") -> Path:
    folder = toys.overlay(project, "compiled")
    (folder / f"files/{name}").write_bytes(b"\x7fELF")
    text = (folder / "patch.yaml").read_text()
    (folder / "patch.yaml").write_text(
        text.replace("  - path: attention.py\n", f"  - path: attention.py\n  - path: {name}\n")
    )
    return toys.bundle(project, engine, "compiled", more=more)[0]


PLACES = pytest.mark.parametrize("place", ["", "  in_place: true\n"], ids=["shadow", "in place"])


@PLACES
def test_an_extension_for_another_python_is_refused(engine: Path, tmp_path: Path, place: str) -> None:
    bundle = extension(tmp_path, engine, "k.cpython-36m-x86_64-linux-gnu.so", place)
    toys.refused(bundle, "k.cpython-36m-x86_64-linux-gnu.so is for cpython-36m-x86_64-linux-gnu")


@PLACES
def test_the_cards_of_an_extension_are_unknown_without_the_tool_that_tells(
    engine: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    bundle = extension(tmp_path, engine, "k.abi3.so", place)
    kernels.act("install", bundle)
    told = kernels.act("status", bundle)["extensions"]["sglang/k.abi3.so"]
    assert isinstance(told, list) or told.startswith("unknown")


@PLACES
def test_an_extension_without_code_for_the_card_is_refused(
    engine: Path, tmp_path: Path, place: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "bin/cuobjdump"
    tool.parent.mkdir()
    tool.write_text('#!/bin/sh\n[ "$1" = --list-elf ] && echo "ELF file    1: k.1.sm_90a.cubin"\n')
    tool.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tool.parent}:/usr/bin:/bin")
    bundle = extension(tmp_path, engine, "k.abi3.so", place + "hardware: {arch: sm_120}\n")
    toys.refused(bundle, "its code is for sm_90a, the cards are sm_120")


@PLACES
@pytest.mark.parametrize(("path", "what"), [("configs", "is a folder"), ("attention.py/more.py", "is no folder")])
def test_a_file_where_the_package_has_a_folder_or_the_other_way_round_is_refused(
    engine: Path, tmp_path: Path, place: str, path: str, what: str
) -> None:
    folder = toys.overlay(tmp_path)
    text = (folder / "patch.yaml").read_text()
    (folder / "patch.yaml").write_text(
        text.replace("- path: attention.py", f"- {{path: {path}, file: files/attention.py}}")
    )
    toys.refused(toys.bundle(tmp_path, engine, "mma", more=place)[0], what)


@pytest.mark.parametrize(
    ("compiled", "arch", "wanted"),
    [
        (["sm_120"], "sm_120", True),
        (["sm_120a"], "sm_120", True),
        (["sm_120a"], "sm_121", False),
        (["sm_120"], "sm_121", True),
        (["sm_120f"], "sm_121", True),
        (["sm_121f"], "sm_120", False),
        (["sm_90", "sm_100"], "sm_120", False),
        (["ptx_sm_90"], "sm_120", True),
        (["ptx_sm_90a"], "sm_120", False),
        (["ptx_sm_120"], "sm_90", False),
        (["sm_121"], "sm_120", False),
        ([], "sm_120", False),
    ],
)
def test_code_runs_on_its_own_major_version_and_ptx_on_all_newer(compiled: list[str], arch: str, wanted: bool) -> None:
    assert runs_on(compiled, arch) is wanted


@pytest.mark.skipif(os.geteuid() != 0, reason="becomes another user")
def test_who_may_not_link_the_files_of_another_gets_a_copy(tmp_path: Path) -> None:
    if Path("/proc/sys/fs/protected_hardlinks").read_text().strip() != "1":
        pytest.skip("here everybody may link everything")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o755)
        engine = toys.venv(folder / "venv", toys.wheel(folder), python="/usr/bin/python3")
        toys.overlay(folder)
        bundle, _ = toys.bundle(folder, engine, "mma")
        done = toys.installed_by("nobody", bundle)
        package = json.loads(done.stdout)["packages"][0]
        assert (package["how"], package["why"]) == ("copied", os.strerror(errno.EPERM))
        assert toys.serve(bundle).stdout == "decode: patched 1\n"
