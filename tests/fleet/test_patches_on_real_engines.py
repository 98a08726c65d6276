"""The real SGLang with patches of each kind in each place: it runs the patched code, and the stock code after that.

Each of four virtual environments (two versions, as pip installs them and as forks are installed) serves on the CPU.
"""

import difflib
import hashlib
import os
import shutil
import sys
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from bed_host import sh
from ground import PORT, Ground
from testbed import Fleet

pytestmark = [pytest.mark.fleet, pytest.mark.oracle, pytest.mark.soak]

SERVER, SCHEDULER = "srt/entrypoints/http_server.py", "srt/managers/scheduler.py"
LOOKUP = "srt/layers/moe/moe_runner/triton_utils/fused_moe_triton_config.py"
TABLE = "srt/layers/moe/moe_runner/triton_utils/configs/triton_3_6_0/E=8,N=64,device_name=CPU.json"
SAID, ASKED, FROM_WHEEL = "only the patched server says this", "the scheduler's MoE table:", "only the wheel says this"
FOUND = "Using MoE kernel config from"
# Where SGLang tells the parent that the scheduler is ready, it now asks its own lookup for a table and shows the answer.
READY = "pipe_writer.send(scheduler.get_init_info())"
ASKS = f"""from sglang.srt.layers.moe.moe_runner.triton_utils import fused_moe_triton_config as tables
        print("{ASKED}", tables.get_moe_configs(8, 64, None), flush=True)
        {READY}"""
# The stock lookup knows no name of a CPU, and fails.
NAMELESS, NAMED = "get_device_name().replace", '(get_device_name() or "CPU").replace'
STOCK, ANOTHER, ANOTHER_IN_PLACE = "{}", "{patches: [another]}", "{patches: [another], in_place: true}"
SHADOW, IN_PLACE = "{patches: [says, names, table]}", "{patches: [says, names, table], in_place: true}"
WHEELS = Path(os.environ.get("DSV4DEPLOY_TEST_WHEELS", Path.home() / ".cache/dsv4deploy/wheels"))


@dataclass(frozen=True, slots=True)
class Engine:
    """A virtual environment in the nodes, and the folder of its package."""

    version: str
    venv: str
    package: str

    @property
    def editable(self) -> bool:
        return not self.package.startswith(self.venv)

    @property
    def older(self) -> bool:
        return self.version != "0.5.23"

    def profile(self, kernels: str) -> str:
        # The older one captures graphs on a CPU too, and fails there.
        graphs = ", disable-cuda-graph: true, disable-piecewise-cuda-graph: true" if self.older else ""
        stand_ins = ", STAND_INS: sgl_kernel" if self.older else ""
        kernels = kernels.replace("{", "{attention: torch_native, sampling: pytorch, ", 1)
        return f"""
name: flash
engine: {{version: {self.version}, venv: {self.venv}}}
model: {{path: /opt/sglang/tiny, served_name: tiny}}
server: {{port: {PORT}, host: 0.0.0.0}}
service: {{user: root}}
kernels: {kernels}
args: {{load-format: dummy, device: cpu, context-length: 512, max-total-tokens: 4096{graphs}}}
env: {{PYTHONPATH: /opt/sglang/stubs, HF_HUB_OFFLINE: "1"{stand_ins}}}
"""


def engines() -> Iterator[Engine]:
    for version in ("0.5.23", "0.5.13.post1"):
        venv = f"/opt/real/{version}"
        yield Engine(version, venv, f"{venv}/lib/python3.11/site-packages/sglang")
        yield Engine(version, f"/opt/real/fork-{version}", f"/opt/real/forks/{version}/sglang")


@pytest.fixture(scope="module")
def engine_fleet() -> Iterator[Fleet]:
    if os.geteuid() != 0 or shutil.which("systemd-nspawn") is None:
        pytest.skip("needs root and systemd-nspawn")
    here = Path(__file__).parent / "sglang"
    layers = [Path(sh("bash", here / name, timeout=1200).stdout.split()[-1]) for name in ("venvs.sh", "layer.sh")]
    fleet = Fleet(f"{os.environ.get('DSV4_FLEET', 'dsv4')[:4]}kern")
    try:
        yield fleet.up(1, disk="3G", layers=layers)
    finally:
        fleet.down()


@pytest.fixture
def ground(engine_fleet: Fleet, tmp_path: Path) -> Iterator[Ground]:
    one = Ground(engine_fleet, tmp_path)
    yield one
    one.clean()


def downloaded(version: str) -> Path:
    """The wheel of a version for the Python of the nodes."""
    if not (found := list(WHEELS.glob(f"sglang-{version}-cp311-*.whl"))):
        command = (sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:")
        sh(*command, "--python-version", "3.11", "--dest", WHEELS, f"sglang=={version}", timeout=600)
        found = list(WHEELS.glob(f"sglang-{version}-cp311-*.whl"))
    return found[0]


class Patches:
    """Patches of every kind, made of what one engine has on the node."""

    def __init__(self, ground: Ground, engine: Engine) -> None:
        self.ground = ground
        self.engine = engine

    def write(self) -> None:
        server, scheduler, lookup = map(self._source, (SERVER, SCHEDULER, LOOKUP))
        assert READY in scheduler
        assert NAMELESS in lookup
        self._patch("says", "overlay", f"files: [{{path: {SERVER}}}, {{path: {SCHEDULER}}}]", SAID)
        self._file("says", f"files/{SERVER}", f"{server}\nprint({SAID!r}, flush=True)\n")
        self._file("says", f"files/{SCHEDULER}", scheduler.replace(READY, ASKS))
        self._patch("names", "diff", "diffs: [{file: names.diff}]", FOUND)
        named = lookup.replace(NAMELESS, NAMED).splitlines(keepends=True)
        names = (f"a/python/sglang/{LOOKUP}", f"b/python/sglang/{LOOKUP}")
        self._file(
            "names", "names.diff", "".join(difflib.unified_diff(lookup.splitlines(keepends=True), named, *names))
        )
        self._patch("table", "tuning", f"files: [{{path: '{TABLE}'}}]", Path(TABLE).name)
        self._file("table", f"files/{TABLE}", '{"1": {"BLOCK_SIZE_M": 4711}}\n')
        self._wheel()

    def _wheel(self) -> None:
        """The wheel that pip installed, with one line more in its server."""
        theirs = downloaded(self.engine.version)
        ours = self._folder("another") / theirs.name
        with zipfile.ZipFile(theirs) as old, zipfile.ZipFile(ours, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as new:
            for info in old.infolist():
                more = f"\nprint({FROM_WHEEL!r}, flush=True)\n" if info.filename == f"sglang/{SERVER}" else ""
                new.writestr(info.filename, old.read(info) + more.encode())
        digest = hashlib.sha256(ours.read_bytes()).hexdigest()
        self._patch("another", "wheel", f"wheel: {{file: {theirs.name}, sha256: '{digest}'}}", FROM_WHEEL)

    def _patch(self, name: str, kind: str, holds: str, log: str) -> None:
        self._file(
            name,
            "patch.yaml",
            f"name: {name}\nsummary: of kind {kind}\nkind: {kind}\n{holds}\n"
            f"fits: {{package: sglang, versions: '=={self.engine.version}'}}\n"
            f"proof: {{module: sglang.srt.entrypoints.http_server, symbol: launch_server, log: '{log}'}}\n",
        )

    def _source(self, path: str) -> str:
        """A file of the stock package, with the newline at its end that a shell takes away."""
        return self.ground.shell(f"cat {self.engine.package}/{path}") + "\n"

    def _folder(self, name: str) -> Path:
        folder = self.ground.folder / "patches" / name
        folder.mkdir(parents=True, exist_ok=True)
        return folder

    def _file(self, name: str, path: str, text: str) -> None:
        target = self._folder(name) / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)


def fingerprint(ground: Ground, engine: Engine) -> str:
    """Every path of the venv and of the package with mode, size, link and time; and SHA-256 of what the files hold.

    Compiled caches of the stock package come and go as it runs.
    """
    folders = f"{engine.venv} {engine.package}"
    listed = f"find {folders} -name __pycache__ -prune -o -not -type d -printf '%m %s %l %T@ %p\\n' | sort | sha256sum"
    folded = f"find {folders} -name __pycache__ -prune -o -type d -printf '%m %p\\n' | sort | sha256sum"
    held = f"find {folders} -name __pycache__ -prune -o -type f -print0 | xargs -0 sha256sum | sort | sha256sum"
    return ground.shell(f"{listed}; {folded}; {held}")


def log(ground: Ground) -> str:
    invocation = ground.shell("systemctl show -P InvocationID flash")
    return ground.shell(f"journalctl -o cat _SYSTEMD_INVOCATION_ID={invocation}")


def runs(ground: Ground, engine: Engine, kernels: str) -> str:
    """Apply, see that it serves, and return the log of the process that runs."""
    ground.write(engine.profile(kernels))
    ground.apply()
    assert ground.http() == 200
    return log(ground)


def assert_stock(said: str) -> None:
    assert not any(line in said for line in (SAID, ASKED, FOUND, FROM_WHEEL))


def assert_patched(ground: Ground, said: str, folder: str) -> None:
    """See that overlay, diff and table are what runs, from a package in `folder`."""
    assert SAID in said
    assert f"{FOUND} {folder}/{TABLE}" in said
    assert f"{ASKED} {{1: {{'BLOCK_SIZE_M': 4711}}}}" in said
    assert FROM_WHEEL not in said
    assert_proved(ground, "says", "names", "table")


def assert_from_wheel(ground: Ground, said: str) -> None:
    assert FROM_WHEEL in said
    assert SAID not in said
    assert_proved(ground, "another")


def assert_proved(ground: Ground, *names: str) -> None:
    code, out = ground.run_kernels("verify")
    assert code == 0, out
    for name in names:
        assert f"{name}  proved" in out, out
        assert f"{name}  active" in out, out


@pytest.mark.parametrize("engine", list(engines()), ids=lambda engine: Path(engine.venv).name)
def test_the_real_server_runs_patches_of_each_kind_in_each_place_and_none_after_that(
    ground: Ground, engine: Engine
) -> None:
    Patches(ground, engine).write()
    before = fingerprint(ground, engine)

    said = runs(ground, engine, SHADOW)
    assert_patched(ground, said, f"{ground.here}/releases/{ground.release()}/shadow/sglang")
    assert fingerprint(ground, engine) == before

    assert_from_wheel(ground, runs(ground, engine, ANOTHER))
    assert fingerprint(ground, engine) == before

    if engine.editable:
        pid = ground.pid()
        ground.write(engine.profile(ANOTHER_IN_PLACE))
        code, out = ground.run("apply", "--yes")
        assert (code, "runs from its sources in" in out) == (4, True), out
        assert ground.pid() == pid
    else:
        assert_from_wheel(ground, runs(ground, engine, ANOTHER_IN_PLACE))
        assert fingerprint(ground, engine) != before

    assert_patched(ground, runs(ground, engine, IN_PLACE), engine.package)
    assert fingerprint(ground, engine) != before

    assert ground.run("stop")[0] == 0
    code, out = ground.run_kernels("revert")
    assert (code, "gpu01  reverted" in out) == (0, True), out
    assert fingerprint(ground, engine) == before
    assert_stock(runs(ground, engine, STOCK))
    assert fingerprint(ground, engine) == before
