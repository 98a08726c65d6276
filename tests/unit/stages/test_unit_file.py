"""The systemd unit, as systemd's own tools judge it."""

import subprocess
from pathlib import Path

import pytest
from house import SUPERVISED, rendered, text_of

pytestmark = pytest.mark.systemd
MINIMAL = """
name: t
engine: {version: 0.5.23, venv: /opt/venv}
model: {path: /m}
"""
# An awkward path each for what the unit names itself.
AWKWARD = [
    'service.sandbox.writable=["/srv/a b", "/srv/100%", "/srv/é:x", "/srv/q\\"uote", "/srv/back\\\\slash"]',
    'service.sandbox.readable=["/home/a b/x", "/home/p%h/x:y"]',
    'service.log={target: file, path: "/var/log/a b %n.log"}',
    'server.api_key_file="/etc/my keys/100%"',
    "service.group=video",
    "service.groups=[render, video]",
    "service.sandbox.devices=[/dev/infiniband/uverbs0]",
]


def unit(folder: Path, text: str) -> Path:
    path = folder / "t.service"
    # verify wants the program to exist; which one it is says nothing about the unit.
    path.write_text(text.replace("/opt/dsv4deploy/t/current/serve.sh", "/bin/true"))
    return path


def systemd_analyze(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["systemd-analyze", *words], capture_output=True, text=True, check=False)


@pytest.mark.parametrize("example", SUPERVISED, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_example_is_verified_and_exposed_at_most_2_0(example: Path, tmp_path: Path) -> None:
    bundle = rendered(example)
    path = tmp_path / f"{bundle.name}.service"
    path.write_text(text_of(bundle, path.name).replace(f"/opt/dsv4deploy/{bundle.name}/current/serve.sh", "/bin/true"))
    assert_verified(path)
    security = systemd_analyze("security", "--offline=yes", "--threshold=20", str(path))
    assert security.returncode == 0, security.stdout


@pytest.mark.parametrize("setting", AWKWARD)
def test_awkward_values_are_written_as_systemd_reads_them(setting: str, tmp_path: Path) -> None:
    assert_verified(unit(tmp_path, text_of(rendered(MINIMAL, setting), "t.service")))


def assert_verified(path: Path) -> None:
    verify = systemd_analyze("verify", "--man=no", "--recursive-errors=no", str(path))
    assert (verify.returncode, verify.stderr) == (0, "")


def test_a_directive_can_be_left_out() -> None:
    text = text_of(rendered(MINIMAL, "service.sandbox.without=[ProtectSystem]"), "t.service")
    assert "ProtectSystem" not in text
    assert "ProtectKernelLogs=yes" in text
    assert "NoNewPrivileges" not in text_of(rendered(MINIMAL, "service.sandbox.enabled=false"), "t.service")


def test_the_process_supervisor_has_no_unit() -> None:
    bundle = rendered(MINIMAL, "service.supervisor=process")
    assert [artifact.path for artifact in bundle.files] == ["nccl.env", "serve.sh", "manifest.json"]
