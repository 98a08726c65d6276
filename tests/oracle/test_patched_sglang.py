"""Patches on the real sglang package, from its wheels and from an editable install: laid, first in line, undone."""

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path

import pytest
import toys
from house import rendered

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim import bundles, kernels

VERSIONS = ("0.5.23", "0.5.13.post1")
FOLDER = Path(os.environ.get("DSV4DEPLOY_TEST_WHEELS", Path.home() / ".cache/dsv4deploy/wheels"))
TARGET = "srt/layers/moe/utils.py"
LINE = 'print("patched moe utils")\n'
DIFF = """\
--- a/python/sglang/{path}
+++ b/python/sglang/{path}
@@ -1,1 +1,2 @@
+{line} {first}"""
FORK = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "sglang"
version = "{version}"
[tool.hatch.build.targets.wheel]
packages = ["sglang"]
"""
pytestmark = pytest.mark.oracle


def pip(*words: str | Path, python: Path | None = None) -> str:
    chosen = ["--python", str(python)] if python else []
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", *chosen, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.fixture(scope="session", params=VERSIONS)
def installed(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """A version, its wheel, and a virtual environment into which pip installed it without dependencies."""
    version: str = request.param
    FOLDER.mkdir(parents=True, exist_ok=True)
    wheels = list(FOLDER.glob(f"sglang-{version}-*.whl"))
    if not wheels:
        pip("download", "--quiet", "--no-deps", "--dest", FOLDER, f"sglang=={version}")
        wheels = list(FOLDER.glob(f"sglang-{version}-*.whl"))
    engine = tmp_path_factory.mktemp("real") / "venv"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", engine], check=True)
    pip("install", "--quiet", "--no-deps", "--no-index", "--no-compile", wheels[0], python=engine / "bin/python")
    return version, wheels[0], engine


@pytest.fixture(scope="session")
def editable(installed: tuple[str, Path, Path], tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path, Path]:
    """A version, the folder of a fork, and a virtual environment into which pip installed that editably."""
    version, _, engine = installed
    folder = tmp_path_factory.mktemp("editable")
    fork, other = folder / "fork", folder / "venv"
    shutil.copytree(toys.site(engine) / "sglang", fork / "sglang", ignore=shutil.ignore_patterns("__pycache__"))
    (fork / "pyproject.toml").write_text(FORK.format(version=version))
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", other], check=True)
    pip("install", "--quiet", "--no-deps", "--editable", fork, python=other / "bin/python")
    return version, fork, other


def overlay(project: Path, package: Path) -> None:
    folder = project / "patches/lined"
    (folder / "files" / TARGET).parent.mkdir(parents=True)
    (folder / "files" / TARGET).write_text((package / TARGET).read_text() + LINE)
    (folder / "patch.yaml").write_text(
        f"name: lined\nsummary: prints a line\nkind: overlay\nfits: {{package: sglang, versions: '>=0.5.13,<0.6'}}\n"
        f"files: [{{path: {TARGET}}}]\n"
    )


def diff(project: Path, package: Path) -> None:
    first = (package / TARGET).read_text().splitlines(keepends=True)[0]
    folder = project / "patches/diffed"
    folder.mkdir(parents=True)
    (folder / "lined.diff").write_text(DIFF.format(path=TARGET, line=LINE, first=first))
    (folder / "patch.yaml").write_text(
        "name: diffed\nsummary: prints a line\nkind: diff\nfits: {package: sglang, versions: '>=0.5.13,<0.6'}\n"
        "diffs: [{file: lined.diff}]\n"
    )


def bundle(project: Path, engine: Path, version: str, patch: str, more: str = "") -> Path:
    path = project / "profile.yaml"
    path.write_text(
        f"name: real\nengine: {{version: {version}, venv: {engine}}}\nmodel: {{path: /m}}\n"
        f"service: {{supervisor: process}}\nkernels: {{patches: [{patch}]{more}}}\n"
    )
    bundles.write(rendered(path), project / "bundle")
    return project / "bundle"


def origin(engine: Path, shadow: Path | None, module: str = "sglang") -> str:
    code = f"from importlib.util import find_spec; print(find_spec({module!r}).origin)"
    environment = {"PYTHONPATH": str(shadow or ""), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [engine / "bin/python", "-c", code], env=environment, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("patch", ["lined", "diffed"])
def test_the_copy_comes_first_and_the_venv_keeps_every_byte(
    patch: str, installed: tuple[str, Path, Path], tmp_path: Path
) -> None:
    version, _, engine = installed
    package = toys.site(engine) / "sglang"
    before = toys.fingerprint(engine)
    (overlay if patch == "lined" else diff)(tmp_path, package)
    made = bundle(tmp_path, engine, version, patch)
    answer = kernels.act("install", made)
    assert answer["packages"][0]["version"] == version
    assert origin(engine, made / "shadow").startswith(str(made / "shadow"))
    assert (made / "shadow/sglang" / TARGET).read_text().count(LINE) == 1
    status = kernels.act("status", made)
    assert status["fine"], status
    assert not kernels.act("install", made)["changed"]
    metadata = "from importlib.metadata import version; print(version('sglang'))"
    environment = {"PYTHONPATH": str(made / "shadow")}
    done = subprocess.run(
        [engine / "bin/python", "-c", metadata], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == version
    kernels.act("revert", made)
    assert toys.fingerprint(engine) == before


def test_a_forced_reinstall_is_seen_and_the_release_stays_patched(
    installed: tuple[str, Path, Path], tmp_path: Path
) -> None:
    version, wheel, engine = installed
    overlay(tmp_path, toys.site(engine) / "sglang")
    made = bundle(tmp_path, engine, version, "lined")
    kernels.act("install", made)
    pip(
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--force-reinstall",
        wheel,
        python=engine / "bin/python",
    )
    status = kernels.act("status", made)
    assert (status["packages"][0]["state"], status["packages"][0]["told"]) == (
        "changed",
        "reinstalled in the venv since",
    )
    assert (status["patches"][0]["state"], status["others"]) == ("patched", [])
    assert kernels.act("install", made)["changed"]
    assert kernels.act("status", made)["fine"]


def test_an_editable_install_is_won_over(editable: tuple[str, Path, Path], tmp_path: Path) -> None:
    version, fork, other = editable
    assert origin(other, None).startswith(str(fork))
    overlay(tmp_path, fork / "sglang")
    made = bundle(tmp_path, other, version, "lined")
    kernels.act("install", made)
    assert origin(other, made / "shadow").startswith(str(made / "shadow"))
    assert LINE not in (fork / "sglang" / TARGET).read_text()


SAID = "this line is only in the patched code"
KINDS, PLACES = ("overlay", "diff", "tuning", "wheel"), ("shadow", "in place")
TABLE = '{"1": {"BLOCK_SIZE_M": 16}}\n'
FIRST = "__init__.py"


def changed(kind: str, project: Path, package: Path, wheel: Path) -> str:
    """Write a patch of a kind that says a line when the engine is imported, or brings a table; its name."""
    folder = project / "patches" / kind
    text = (package / FIRST).read_text()
    said = f"print({SAID!r})\n"
    if kind == "overlay":
        files = {f"files/{FIRST}": said + text}
        listed = f"files: [{{path: {FIRST}}}]"
    elif kind == "diff":
        files = {"a.diff": DIFF.format(path=FIRST, line=said, first=text.splitlines(keepends=True)[0])}
        listed = "diffs: [{file: a.diff}]"
    elif kind == "tuning":
        files = {"files/srt/table.json": TABLE}
        listed = "files: [{path: srt/table.json}]"
    else:
        files = {}
        data = repacked(wheel, folder, said)
        listed = f"wheel: {{file: {data.name}, sha256: '{hashlib.sha256(data.read_bytes()).hexdigest()}'}}"
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    (folder / "patch.yaml").write_text(
        f"name: {kind}\nsummary: says a line\nkind: {kind}\nfits: {{package: sglang, versions: '>=0.5.13,<0.6'}}\n{listed}\n"
    )
    return kind


def repacked(wheel: Path, folder: Path, said: str) -> Path:
    """The same wheel with one more line in its package."""
    folder.mkdir(parents=True)
    with zipfile.ZipFile(wheel) as old, zipfile.ZipFile(folder / wheel.name, "w") as new:
        for info in old.infolist():
            data = old.read(info)
            new.writestr(info, said.encode() + data if info.filename == f"sglang/{FIRST}" else data)
    return folder / wheel.name


def imported(engine: Path, shadow: Path | None) -> tuple[bool, bool]:
    """Whether the environment's Python says the line when it imports the engine, and whether it finds the table.

    The import breaks off where the first library is missing; the line comes before.
    """
    code = (
        "import importlib.util, pathlib\n"
        "found = pathlib.Path(importlib.util.find_spec('sglang').submodule_search_locations[0])\n"
        "print((found / 'srt/table.json').exists())\nimport sglang\n"
    )
    environment = {"PYTHONPATH": str(shadow or ""), "PYTHONDONTWRITEBYTECODE": "1"}
    words: list[str | Path] = [engine / "bin/python", "-c", code]
    done = subprocess.run(words, env=environment, capture_output=True, text=True, check=False)
    return SAID in done.stdout, done.stdout.startswith("True")


@pytest.mark.soak
@pytest.mark.parametrize("patch", list(product(KINDS, PLACES)), ids="-".join)
@pytest.mark.parametrize("install", ["pip", "editable"])
def test_each_kind_in_each_place_runs_and_is_undone(
    patch: tuple[str, str],
    install: str,
    installed: tuple[str, Path, Path],
    editable: tuple[str, Path, Path],
    tmp_path: Path,
) -> None:
    (kind, place), (version, wheel, engine) = patch, installed
    package = toys.site(engine) / "sglang"
    if install == "editable":
        _, fork, engine = editable
        package = fork / "sglang"
    before = toys.fingerprint(engine), toys.fingerprint(package)
    name = changed(kind, tmp_path, package, wheel)
    made = bundle(tmp_path, engine, version, name, ", in_place: true" if place == "in place" else "")
    assert imported(engine, None) == (False, False)
    if (kind, place, install) == ("wheel", "in place", "editable"):
        with pytest.raises(Trouble, match="runs from its sources"):
            kernels.act("install", made)
    else:
        kernels.act("install", made)
        shadow = made / "shadow" if place == "shadow" else None
        assert imported(engine, shadow) == (kind != "tuning", kind == "tuning")
        assert kernels.act("status", made)["fine"]
        assert not kernels.act("install", made)["changed"]
        kernels.act("revert", made)
        assert imported(engine, None) == (False, False)
    assert (toys.fingerprint(engine), toys.fingerprint(package)) == before


@pytest.mark.parametrize("kind", ["overlay", "wheel"])
def test_a_forced_reinstall_undoes_what_was_patched_in_place_and_status_says_so(
    kind: str, installed: tuple[str, Path, Path], tmp_path: Path
) -> None:
    version, wheel, engine = installed
    before = toys.fingerprint(engine)
    name = changed(kind, tmp_path, toys.site(engine) / "sglang", wheel)
    made = bundle(tmp_path, engine, version, name, ", in_place: true")
    kernels.act("install", made)
    assert kernels.act("status", made)["fine"]
    pip(
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        "--no-compile",
        "--force-reinstall",
        wheel,
        python=engine / "bin/python",
    )
    assert kernels.act("status", made)["patches"][0]["state"] == "overwritten by a reinstall"
    kernels.act("revert", made)
    assert toys.fingerprint(engine) == before


@pytest.mark.parametrize(
    ("kind", "place"),
    [
        ("overlay", ""),
        ("overlay", ", in_place: true"),
        pytest.param("wheel", ", in_place: true", marks=pytest.mark.soak),
    ],
    ids=["overlay-shadow", "overlay-in place", "wheel-in place"],
)
def test_pip_check_says_the_same_of_a_patched_environment(
    kind: str, place: str, installed: tuple[str, Path, Path], tmp_path: Path
) -> None:
    version, wheel, engine = installed

    def check() -> str:
        words = [sys.executable, "-m", "pip", "--python", str(engine / "bin/python"), "check"]
        return subprocess.run(words, capture_output=True, text=True, check=False).stdout

    before = check()
    assert "sglang" in before  # it was installed without what it requires
    made = bundle(tmp_path, engine, version, changed(kind, tmp_path, toys.site(engine) / "sglang", wheel), place)
    kernels.act("install", made)
    assert check() == before
    kernels.act("revert", made)


def test_one_byte_of_difference_is_refused(installed: tuple[str, Path, Path], tmp_path: Path) -> None:
    version, _, engine = installed
    diff(tmp_path, toys.site(engine) / "sglang")
    text = (tmp_path / "patches/diffed/lined.diff").read_text()
    (tmp_path / "patches/diffed/lined.diff").write_text(text[:-2] + "#\n")
    with pytest.raises(Trouble, match=r"hunk 1 of python/sglang/.* does not fit"):
        kernels.act("install", bundle(tmp_path, engine, version, "diffed"))
