"""Patches on real nodes: applied with the release, proved where they run, gone with the rollback."""

import os
from pathlib import Path

import pytest
from ground import Ground, profile

pytestmark = pytest.mark.fleet
LINE = "patched: the toy kernel is on"
FINGERPRINT = "find /opt/rehearsal -type f -not -name '*.pyc' -exec sha256sum {} + | sort | sha256sum; find /opt/rehearsal -not -path '*__pycache__*' -printf '%m %p\\n' | sort | sha256sum"
FIND = "/opt/rehearsal/bin/python -c 'import importlib.util as u; print(u.find_spec(\"sglang\").submodule_search_locations[0])'"


def patch(ground: Ground, versions: str = ">=0.5") -> None:
    """A patch that lets the engine print one line when it starts."""
    folder = ground.folder / "patches/lined"
    (folder / "files").mkdir(parents=True, exist_ok=True)
    source = ground.shell(f"cat $({FIND})/launch_server.py")
    lines = source.splitlines()
    # After the imports from the future, which must come first.
    place = max((number for number, line in enumerate(lines) if line.startswith("from __future__")), default=-1)
    lines.insert(place + 1, f'import os\nprint("{LINE}", os.environ.get("TOY_MMA"), flush=True)')
    (folder / "files/launch_server.py").write_text("\n".join(lines) + "\n")
    (folder / "patch.yaml").write_text(
        f"name: lined\nsummary: prints a line\nkind: overlay\nfits: {{package: sglang, versions: '{versions}'}}\n"
        f"files: [{{path: launch_server.py}}]\ntoggle: {{name: TOY_MMA}}\nproof: {{log: '{LINE}'}}\n"
    )


def patched(*, in_place: bool = False, color: str = "red") -> str:
    return (
        profile(COLOR=color)
        + f"kernels: {{toggles: {{TOY_MMA: 1}}, patches: [lined], in_place: {str(in_place).lower()}}}\n"
    )


def caches(ground: Ground) -> set[tuple[str, str]]:
    """Where the process that runs now keeps compiled kernels."""
    names = ("TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "FLASHINFER_WORKSPACE_BASE", "SGLANG_DG_CACHE_DIR")
    found = ground.environ()
    return {(name, found[name]) for name in names}


def said(ground: Ground) -> bool:
    """Whether the process that runs now said the line."""
    invocation = ground.shell("systemctl show -P InvocationID flash")
    return f"{LINE} 1" in ground.shell(f"journalctl -o cat _SYSTEMD_INVOCATION_ID={invocation}")


@pytest.mark.parametrize("in_place", [False, True], ids=["shadow", "in place"])
def test_a_patched_release_is_proved_where_it_runs_and_undone_by_rollback(ground: Ground, in_place: bool) -> None:
    ground.apply("--limit", "gpu01")
    before, kept = ground.shell(FINGERPRINT), caches(ground)
    assert not said(ground)
    patch(ground)
    ground.write(patched(in_place=in_place))
    ground.apply("--limit", "gpu01")
    assert said(ground)
    assert not kept & caches(ground)
    code, out = ground.run_kernels("verify", "--limit", "gpu01")
    assert (code, "lined  proved" in out, "lined  active" in out) == (0, True, True), out
    assert (ground.shell(FINGERPRINT) == before) is not in_place
    code, out = ground.run("plan", "--limit", "gpu01")
    assert "No changes" in out, out
    code, out = ground.run("rollback", "--yes", "--limit", "gpu01")
    assert code == 0, out
    assert not said(ground)
    assert caches(ground) == kept
    assert ground.shell(FINGERPRINT) == before


def test_a_patch_for_another_engine_is_refused_before_anything_stops(ground: Ground, tmp_path: Path) -> None:
    ground.apply("--limit", "gpu01")
    pid = ground.pid()
    patch(ground)
    text = (ground.folder / "patches/lined/patch.yaml").read_text()
    text = text.replace("versions: '>=0.5'", "files: {launch_server.py: " + "a" * 64 + "}")
    (ground.folder / "patches/lined/patch.yaml").write_text(text)
    ground.write(patched())
    code, out = ground.run("plan", "--limit", "gpu01")
    assert "patch lined" in out, out
    code, out = ground.run("apply", "--yes", "--limit", "gpu01")
    assert code == 4, out
    assert ground.pid() == pid


def test_an_edit_on_the_node_is_seen_and_mended(ground: Ground) -> None:
    patch(ground)
    ground.write(patched())
    ground.apply("--limit", "gpu01")
    ground.shell("f=$(readlink -f /opt/dsv4deploy/flash/current)/shadow/sglang/launch_server.py; echo '# edited' >> $f")
    code, out = ground.run_kernels("status", "--limit", "gpu01")
    assert (code, "sglang/launch_server.py: drifted" in out) == (1, True), out
    code, out = ground.run("plan", "--limit", "gpu01")
    assert "drifted" in out, out
    ground.apply("--limit", "gpu01")
    code, out = ground.run_kernels("status", "--limit", "gpu01")
    assert code == 0, out
    assert said(ground)


def test_what_a_node_has_of_a_patch_is_not_sent_again(ground: Ground) -> None:
    patch(ground)
    folder = ground.folder / "patches/lined"
    (folder / "files/table.bin").write_bytes(os.urandom(4 << 20))
    text = (folder / "patch.yaml").read_text()
    (folder / "patch.yaml").write_text(text.replace("files: [", "files: [{path: table.bin}, "))

    def arrived(profile: str) -> int:
        """Bytes that came to the node while the profile was applied."""
        ground.write(profile)
        count = "awk '/eth0:/ {print $2}' /proc/1/net/dev"
        before = int(ground.shell(count))
        ground.apply("--limit", "gpu01")
        return int(ground.shell(count)) - before

    assert arrived(patched()) > 4 << 20
    assert arrived(patched(color="blue")) < 2 << 20
    assert said(ground)
    ground.whole()
