"""One fleet for each worker of the test run, with the rehearsal engine on every node."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from bed_host import sh
from ground import COMMAND, Ground
from testbed import Fleet

_NEEDED = ("systemd-nspawn", "mmdebstrap", "ip", "ssh")


@pytest.fixture(scope="session")
def whole_fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    missing = [tool for tool in _NEEDED if shutil.which(tool) is None]
    if os.geteuid() != 0 or missing:
        pytest.skip(f"needs root and {', '.join(missing) or 'nothing else'}")
    engine, older = (tmp_path_factory.mktemp("engine") / name for name in ("rehearsal.pyz", "older.pyz"))
    sh(COMMAND, "rehearse", "pack", engine, "--engine", "0.5.23")
    sh(COMMAND, "rehearse", "pack", older, "--engine", "0.5.22")
    fleet = Fleet(os.environ.get("DSV4_FLEET", "dsv4") + os.environ.get("PYTEST_XDIST_WORKER", "").removeprefix("gw"))
    try:
        fleet.up(3, disk="256M", files=[(str(engine), "/opt/rehearsal.pyz"), (str(older), "/opt/older.pyz")])
        for node in fleet.nodes.values():
            node.exec("python3", "/opt/rehearsal.pyz", "/opt/rehearsal")
            node.exec("python3", "/opt/older.pyz", "/opt/rehearsal-0.5.22")
        yield fleet
    finally:
        fleet.down()


@pytest.fixture
def ground(whole_fleet: Fleet, tmp_path: Path) -> Iterator[Ground]:
    one = Ground(whole_fleet, tmp_path)
    yield one
    one.clean()
