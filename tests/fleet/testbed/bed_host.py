"""What a fleet asks of this machine: commands, locks, network namespaces, control groups, limits."""

import contextlib
import ctypes
import fcntl
import os
import pathlib
import re
import subprocess
from collections.abc import Iterator

CACHE = pathlib.Path(os.environ.get("TB_CACHE", "/var/cache/dsv4-testbed"))
STATE = pathlib.Path(os.environ.get("TB_STATE", "/run/dsv4-testbed"))
SUBNET = os.environ.get("TB_SUBNET", "198.51.100")  # TEST-NET-2, a /24
CLONE_NEWNET = 0x40000000
INOTIFY = pathlib.Path("/proc/sys/fs/inotify/max_user_instances")


class FleetError(RuntimeError):
    pass


def sh(
    *cmd: object, check: bool = True, text: str | None = None, quiet: bool = True, timeout: float = 120
) -> subprocess.CompletedProcess[str]:
    p = subprocess.run(
        [str(c) for c in cmd],
        check=False,
        input=text,
        text=True,
        timeout=timeout,
        stdout=subprocess.PIPE if quiet else None,
        stderr=subprocess.STDOUT if quiet else None,
    )
    if check and p.returncode:
        raise FleetError(f"{' '.join(map(str, cmd))}: rc={p.returncode}\n{p.stdout or ''}")
    return p


def size_bytes(text: str) -> int:
    m = re.fullmatch(r"(\d+)([KMG]?)", str(text).upper())
    if not m:
        raise FleetError(f"not a size: {text}")
    return int(m[1]) << {"": 0, "K": 10, "M": 20, "G": 30}[m[2]]


@contextlib.contextmanager
def flock(path: pathlib.Path) -> Iterator[None]:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as f:
        fcntl.flock(f, fcntl.LOCK_EX)
        yield


def _setns(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if ctypes.CDLL(None, use_errno=True).setns(fd, CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), f"setns {path}")
    finally:
        os.close(fd)


def enter_netns(name: str) -> None:
    """Move the calling thread (and what it starts from now on) into a netns."""
    _setns(f"/run/netns/{name}")


@contextlib.contextmanager
def netns(name: str) -> Iterator[None]:
    """The calling thread, and what it starts meanwhile, inside a netns."""
    back = os.open("/proc/thread-self/ns/net", os.O_RDONLY | os.O_CLOEXEC)
    try:
        enter_netns(name)
        yield
    finally:
        _setns(f"/proc/self/fd/{back}")
        os.close(back)


def cgroup2_root() -> pathlib.Path:
    """Where a cgroup2 hierarchy is mounted (hybrid, unified or our own mount)."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        f = line.split()
        if f[2] == "cgroup2" and "ro" not in f[3].split(","):
            return pathlib.Path(f[1])
    own = STATE / "cgroup2"
    own.mkdir(parents=True, exist_ok=True)
    sh("mount", "-t", "cgroup2", "cgroup2", own)
    return own


def raise_inotify(want: int) -> None:
    """All nodes share root's inotify quota (128 by default): too few for 8 systemds."""
    now = int(INOTIFY.read_text())
    if now < want + 128:
        saved = STATE / "inotify.saved"
        if not saved.exists():
            STATE.mkdir(parents=True, exist_ok=True)
            saved.write_text(str(now))
        INOTIFY.write_text(str(want + 128))


def restore_inotify() -> None:
    saved = STATE / "inotify.saved"
    if saved.exists():
        INOTIFY.write_text(saved.read_text())
        saved.unlink()
