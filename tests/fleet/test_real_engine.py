"""The real SGLang on three nodes, on the CPU with a tiny random model: applied, changed, rolled back, stopped."""

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from bed_host import sh
from ground import PORT, Ground
from testbed import Fleet

pytestmark = pytest.mark.fleet

PROFILE = f"""
name: flash
engine: {{version: 0.5.23, venv: /opt/sglang/venv}}
model: {{path: /opt/sglang/tiny, served_name: tiny}}
server: {{port: {PORT}, host: 0.0.0.0}}
service: {{user: root}}
kernels: {{attention: torch_native, sampling: pytorch}}
args: {{load-format: dummy, device: cpu, context-length: 512, max-total-tokens: 4096}}
env: {{PYTHONPATH: /opt/sglang/stubs, HF_HUB_OFFLINE: "1"}}
"""
SITE = "/opt/sglang/venv/lib/python3.11/site-packages"
# Content of the package and its metadata (RECORD is there), and modes and sizes of all that is installed.
LISTED = (
    f"cd {SITE}; find sglang sglang-* -type f -exec sha256sum {{}} + | sort; cd /opt/sglang/venv;"
    "find . -type d -printf '%m %p\\n' | sort; find . -not -type d -printf '%m %s %l %p\\n' | sort"
)
LINE = "this line is only in the patched copy"
ABOUT = f"""
name: lined
summary: the HTTP server says a line when it is imported
kind: overlay
fits: {{package: sglang, versions: "==0.5.23"}}
files: [{{path: srt/entrypoints/http_server.py}}]
proof: {{module: sglang.srt.entrypoints.http_server, symbol: launch_server, log: {LINE}}}
"""


@pytest.fixture(scope="module")
def engine_fleet() -> Iterator[Fleet]:
    if os.geteuid() != 0 or shutil.which("systemd-nspawn") is None:
        pytest.skip("needs root and systemd-nspawn")
    recipe = Path(__file__).parent / "sglang/layer.sh"
    layer = sh("bash", recipe, timeout=1200).stdout.strip().splitlines()[-1]
    fleet = Fleet(f"{os.environ.get('DSV4_FLEET', 'dsv4')[:4]}real")
    try:
        yield fleet.up(3, disk="512M", layers=[Path(layer)])
    finally:
        fleet.down()


@pytest.fixture
def ground(engine_fleet: Fleet, tmp_path: Path) -> Iterator[Ground]:
    one = Ground(engine_fleet, tmp_path)
    one.write(PROFILE)
    yield one
    one.clean()


EXPERIMENT = """
name: context
question: Does this model start with a longer context than its config has?
profile: profile.yaml
hypotheses:
  length: {says: the engine refuses it, blames: [args.context-length]}
arms:
  fits: {}
  longer: {control: fits, changes: {args.context-length: 999999}}
checks: [endpoints]
deadline_s: 900
port: 31000
decide:
  - when: {fits: ready, longer: context-too-long}
    verdict: the engine refuses it
    supports: length
    matters: [args.context-length]
  - {when: {fits: ready, longer: ready}, verdict: it starts all the same}
"""


def completion(ground: Ground, node: str) -> str:
    asked = json.dumps({"model": "tiny", "prompt": "a", "max_tokens": 4, "temperature": 0})
    url = f"http://{ground.node(node).ip}:{PORT}/v1/completions"
    with ground.fleet.net():
        words = ["curl", "-s", "-m", "60", "-H", "Content-Type: application/json", "-d", asked, url]
        done = subprocess.run(words, capture_output=True, text=True, check=True)
    text: str = json.loads(done.stdout)["choices"][0]["text"]
    return text


def write_patch(ground: Ground) -> None:
    file = ground.folder / "patches/lined/files/srt/entrypoints/http_server.py"
    file.parent.mkdir(parents=True)
    source = ground.shell(f"cat {SITE}/sglang/srt/entrypoints/http_server.py")
    file.write_text(f"{source}\nprint({LINE!r}, flush=True)\n")
    (ground.folder / "patches/lined/patch.yaml").write_text(ABOUT)


def said(ground: Ground) -> bool:
    """Whether the log of the process that runs now has the line."""
    invocation = ground.shell("systemctl show -P InvocationID flash")
    return LINE in ground.shell(f"journalctl -o cat _SYSTEMD_INVOCATION_ID={invocation}")


def test_the_real_engine_is_applied_patched_rolled_back_and_stopped(ground: Ground) -> None:
    ground.apply("--serial", "3")
    for node in ("gpu01", "gpu02", "gpu03"):
        assert completion(ground, node)
    assert "No changes" in ground.run("apply")[1]
    before = ground.words()
    ground.shell(f"({LISTED}) > /root/venv")
    assert not said(ground)
    write_patch(ground)
    ground.apply("--limit", "gpu01", "--set", "args.max-total-tokens=2048", "--set", "kernels.patches=[lined]")
    assert ground.words()[-1] == "2048"
    assert completion(ground, "gpu01")
    assert said(ground)
    code, out = ground.run_kernels("verify", "--limit", "gpu01")
    assert (code, "lined  proved" in out, f"lined  active: {LINE}" in out) == (0, True, True), out
    assert ground.shell(f"({LISTED}) | diff /root/venv - | head") == ""
    code, out = ground.run("rollback", "--yes", "--limit", "gpu01")
    assert code == 0, out
    assert ground.words() == before
    assert completion(ground, "gpu01")
    assert not said(ground)
    assert ground.shell(f"({LISTED}) | diff /root/venv - | head") == ""
    assert ground.run("stop", "--limit", "gpu01")[0] == 0
    assert ground.shell("systemctl show -P Result flash; pgrep -f '[s]glang' | wc -l") == "success\n0"


def test_what_the_real_engine_refuses_is_marked_and_refused_from_then_on(ground: Ground) -> None:
    rule = "context-longer-than-the-model"
    unwaived = ("--set", "args.context-length=999999")
    too_long = (*unwaived, "--waive", f"{rule}=to be sure")
    one = ("--yes", "--limit", "gpu01")
    ground.apply("--limit", "gpu01")
    before = ground.release()
    code, out = ground.run("apply", *one, *unwaived)
    assert (code, f"refuse: {rule}" in out) == (4, True), out
    code, out = ground.run("health", "--limit", "gpu01", "--only", "endpoints", "--only", "server-info")
    assert code == 0, out
    code, out = ground.run("apply", *one, *too_long)
    assert (code, "serves again" in out) == (5, True), out
    ground.serves(before)
    (mark,) = (ground.folder / "marks").glob("*.yaml")
    assert mark.name.startswith("context-too-long-flash-")
    for change in ((), ("--set", "server.port=31000")):
        code, out = ground.run("apply", *one, *too_long, *change)
        assert (code, f"mark:{mark.stem}" in out) == (1, True), out
    code, out = ground.run("plan", "--limit", "gpu01", *too_long, "--set", "engine.build=another")
    assert (code, "it does not block" in out) == (0, True), out
    ground.apply("--limit", "gpu01", "--set", "args.context-length=256")


def to_its_end(ground: Ground, *words: str) -> str:
    """Run what takes several starts of the engine, and see that it went well."""
    running = ground.begin(*words)
    out, _ = running.communicate(timeout=3600)
    assert running.returncode == 0, out
    return out


def test_an_experiment_on_the_real_engine_comes_to_its_verdict_mark_and_rule(ground: Ground) -> None:
    ground.write(EXPERIMENT, "experiment.yaml")
    out = to_its_end(ground, "diagnose", "experiment.yaml", "--limit", "gpu01")
    assert "verdict: decided: the engine refuses it" in out
    assert "greater than the derived context_length" in out
    (mark,) = (ground.folder / "marks").glob("context-too-long-flash-*.yaml")
    rule = yaml.safe_load((ground.folder / ".dsv4deploy/drafts/context.yaml").read_text())
    assert rule["when"] == [{"setting": "context_length", "is": 999999}]
    assert rule["evidence"][0]["grade"] == "reproduced"
    found = yaml.safe_load(mark.read_text())
    assert found["core"]["engine_version"] == "0.5.23"
    assert "torch" in found["sightings"][0]["host"]
    assert ground.shell("pgrep -f '[s]glang' | wc -l; ss -Hltn 'sport = :31000' | wc -l") == "0\n0"


@pytest.mark.soak
def test_a_bisection_on_the_real_engine_finds_the_setting_that_it_refuses(ground: Ground) -> None:
    ground.write(PROFILE, "good.yaml")
    bad = PROFILE.replace(
        "context-length: 512, max-total-tokens: 4096", "context-length: 999999, max-total-tokens: 2048"
    )
    ground.write(bad.replace("env: {", "env: {OMP_NUM_THREADS: 1, ") + "memory: {fraction_static: 0.5}\n", "bad.yaml")
    out = to_its_end(ground, "bisect", "--good", "good.yaml", "--bad", "bad.yaml", "--limit", "gpu01")
    assert "culprit: args.context-length=999999" in out
    assert "context-too-long, found in" in out
    assert list((ground.folder / ".dsv4deploy/drafts").glob("bisect-*.yaml"))


def test_the_hardened_unit_of_a_user_without_rights_serves_behind_a_key_that_nobody_sees(ground: Ground) -> None:
    key = "sk-canary-4711"
    ground.shell(f"useradd --system sglang; umask 077; echo {key} > /etc/flash.key")
    ground.write(PROFILE.replace("service: {user: root}\n", "").replace("host:", "api_key_file: /etc/flash.key, host:"))
    ground.apply("--limit", "gpu01")
    assert ground.shell("systemctl show -P User flash; systemctl show -P ProtectSystem flash") == "sglang\nstrict"
    ask = f"curl -s -o /dev/null -w '%{{http_code}}' http://127.0.0.1:{PORT}/v1/models"
    assert ground.shell(ask) == "401"
    assert ground.shell(f"{ask} -H 'Authorization: Bearer {key}'") == "200"
    code, out = ground.run("plan", "--limit", "gpu01", "--set", "args.max-total-tokens=2048", "--format", "json")
    assert (code, key in out) == (0, False)
    held = [path for path in ground.folder.rglob("*") if path.is_file() and key.encode() in path.read_bytes()]
    assert held == []
    seen = (
        "journalctl; ps axww; cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>/dev/null; "
        "find /opt/dsv4deploy /etc/systemd /run/systemd /var/cache /var/log /tmp /root /home -type f -exec cat {} +"
    )
    assert ground.shell(f"({seen}) | grep -a -c '[s]k-canary'") == "0"
