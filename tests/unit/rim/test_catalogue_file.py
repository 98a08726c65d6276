"""Catalogues are read from any kind of SGLang package, written, and read back."""

import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

import dsv4deploy.flags
from dsv4deploy.flags import history
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.rim.catalogue_file import (
    catalogue_text,
    extracted,
    history_bytes,
    read_catalogue,
    release,
    with_overlay,
)

OVERLAY = Path(dsv4deploy.flags.__file__).parent / "overlay"
SERVER = dedent("""
    class ServerArgs:
        def add_cli_args(parser):
            parser.add_argument("--model-path", type=str, required=True)
            parser.add_argument("--speculative-algorithm", type=str)
            parser.add_argument("--fork-only", type=int, choices=[1, 2], default=2)
        def from_cli_args(cls, args): pass
""")
FILES = {
    "sglang/srt/server_args.py": SERVER,
    "sglang/srt/environ.py": "class Envs:\n    SGLANG_FORK = EnvBool(False)\n",
    "sglang-0.5.21.dist-info/METADATA": "Metadata-Version: 2.1\nName: sglang\nVersion: 0.5.21+fork\n",
}


def folder(root: Path, prefix: str = "") -> Path:
    for name, text in FILES.items():
        path = root / prefix / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def wheel(root: Path, version: str = "0.5.21+fork") -> Path:
    path = root / f"sglang-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in FILES.items():
            archive.writestr(name, text.replace("0.5.21+fork", version))
    return path


@pytest.mark.parametrize("kind", ["wheel", "folder", "venv", "checkout"])
def test_any_kind_of_package_is_read(kind: str, tmp_path: Path) -> None:
    prefixes = {"folder": "", "venv": "lib/python3.12/site-packages", "checkout": "python"}
    path = wheel(tmp_path) if kind == "wheel" else folder(tmp_path, prefixes[kind])
    catalogue, problems = extracted(path)
    assert (catalogue.version, problems) == ("0.5.21+fork", ())
    assert set(catalogue.flags) == {"--model-path", "--speculative-algorithm", "--fork-only"}
    assert set(catalogue.variables) == {"SGLANG_FORK"}


def test_a_written_catalogue_reads_back_with_what_is_known_beside_it(tmp_path: Path) -> None:
    catalogue, _ = extracted(folder(tmp_path))
    file = tmp_path / "fork.json"
    file.write_text(catalogue_text(catalogue))
    read = read_catalogue(file)
    assert read.flag("--fork-only") == catalogue.flag("--fork-only")
    speculative = read.flag("--speculative-algorithm")
    assert speculative
    assert speculative.accepts
    assert {"NCCL_P2P_LEVEL", "SGLANG_FORK"} <= set(read.variables)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"schema": "catalogue/1"}',
        '{"schema": "catalogue/1", "version": "1", "flags": {"--x": {"no": 1}}, "variables": {}}',
    ],
)
def test_what_is_no_catalogue_is_refused_with_the_command_that_makes_one(text: str, tmp_path: Path) -> None:
    file = tmp_path / "x.json"
    file.write_text(text)
    with pytest.raises(Trouble) as trouble:
        read_catalogue(file)
    assert "flags extract" in trouble.value.remedy


@pytest.mark.parametrize("make", ["nothing", "empty", "text"])
def test_what_is_no_package_is_refused(make: str, tmp_path: Path) -> None:
    path = tmp_path / "package"
    if make == "empty":
        path.mkdir()
    elif make == "text":
        path.write_text("no archive")
    with pytest.raises(Trouble, match="package"):
        extracted(path)


@pytest.mark.parametrize("text", ["class ServerArgs: (", "\0", "x = " + "(" * 5000])
def test_a_text_that_is_no_python_is_told_in_a_line(text: str, tmp_path: Path) -> None:
    path = folder(tmp_path)
    (path / "sglang/srt/server_args.py").write_text(text)
    with pytest.raises(Trouble, match="cannot be read"):
        extracted(path)


def test_the_same_wheels_give_the_same_bytes_in_any_order(tmp_path: Path) -> None:
    wheels = [wheel(tmp_path, version) for version in ("0.5.21", "0.5.9", "0.5.10")]
    first = history_bytes(wheels, OVERLAY)
    assert first == history_bytes(reversed(wheels), OVERLAY)
    assert first == with_overlay(first, OVERLAY)


def test_a_release_that_is_not_known_is_refused_with_those_that_are() -> None:
    with pytest.raises(Trouble, match=r"nearest: 0\.5\.23") as trouble:
        release("0.5.99")
    assert trouble.value.code is Exit.USAGE
    assert "0.5.13.post1" in trouble.value.remedy
    assert release("").version == history().versions[-1]
