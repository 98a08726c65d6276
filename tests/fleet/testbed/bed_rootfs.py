"""The root file system that all nodes of a fleet share: built once, then kept."""

import hashlib
import pathlib
import shutil
import subprocess
import sys
import time
from collections.abc import Sequence

from bed_host import CACHE, FleetError, flock

PACKAGES = [
    "systemd",
    "systemd-sysv",
    "dbus",
    "libpam-systemd",
    "openssh-server",
    "sudo",
    "python3",
    "python3-venv",
    "python3-apt",
    "iproute2",
    "iputils-ping",
    "procps",
    "kmod",
    "curl",
    "netbase",
]
BASE_SETUP = r"""
set -eu
useradd -m -s /bin/bash ops
printf 'ops ALL=(ALL) NOPASSWD: ALL\n' > /etc/sudoers.d/ops
chmod 0440 /etc/sudoers.d/ops
rm -f /etc/ssh/ssh_host_*
mkdir -p /etc/ssh/sshd_config.d /etc/systemd/journald.conf.d /var/log/journal
printf 'PermitRootLogin prohibit-password\nPasswordAuthentication no\nUseDNS no\n' > /etc/ssh/sshd_config.d/tb.conf
printf '[Journal]\nStorage=persistent\nSystemMaxUse=32M\nRateLimitIntervalSec=0\n' > /etc/systemd/journald.conf.d/tb.conf
rm -f /etc/systemd/system/timers.target.wants/* /etc/systemd/system/getty.target.wants/*
rm -f /etc/systemd/system/multi-user.target.wants/e2scrub_reap.service
systemctl mask -q systemd-udevd.service systemd-resolved.service console-getty.service \
    getty-static.service apt-daily.timer apt-daily-upgrade.timer 2>/dev/null || true
systemctl set-default -q multi-user.target
: > /etc/machine-id; rm -f /var/lib/dbus/machine-id; ln -s /etc/machine-id /var/lib/dbus/machine-id
rm -f /etc/resolv.conf; : > /etc/resolv.conf
rm -rf /var/lib/apt/lists/* /var/cache/apt/*.bin
/usr/bin/python3 -m compileall -q /usr/lib/python3 >/dev/null 2>&1 || true
"""


def base_key(suite: str, packages: Sequence[str]) -> str:
    h = hashlib.sha256("\n".join([suite, *sorted(packages), BASE_SETUP]).encode())
    return f"{suite}-{h.hexdigest()[:12]}"


def base(suite: str = "bookworm", extra: Sequence[str] = ()) -> pathlib.Path:
    """Path of the shared read-only rootfs; built on first use, then cached."""
    packages = [*PACKAGES, *extra]
    dest = CACHE / base_key(suite, packages)
    if (dest / ".complete").exists():
        return dest / "root"
    with flock(CACHE / "lock"):
        if (dest / ".complete").exists():
            return dest / "root"
        shutil.rmtree(dest, ignore_errors=True)
        dest.mkdir(parents=True)
        log = (dest / "build.log").open("w")
        print(f"tb: building the {suite} rootfs in {dest} (log: build.log)", file=sys.stderr)
        if shutil.which("mmdebstrap"):
            cmd = [
                "mmdebstrap",
                "--mode=root",
                "--variant=minbase",
                "--include=" + ",".join(packages),
                "--dpkgopt=force-unsafe-io",
                "--dpkgopt=path-exclude=/usr/share/man/*",
                "--dpkgopt=path-exclude=/usr/share/locale/*",
                "--dpkgopt=path-exclude=/usr/share/doc/*",
                suite,
                str(dest / "root"),
            ]
        else:
            cmd = ["debootstrap", "--variant=minbase", "--include=" + ",".join(packages), suite, str(dest / "root")]
        for attempt in (1, 2, 3):
            if subprocess.run(cmd, stdout=log, stderr=log, stdin=subprocess.DEVNULL, check=False).returncode == 0:
                break
            shutil.rmtree(dest / "root", ignore_errors=True)
            if attempt == 3:
                raise FleetError(f"building the rootfs failed: see {dest}/build.log")
            time.sleep(5 * attempt)
        p = subprocess.run(
            ["chroot", str(dest / "root"), "/bin/sh", "-c", BASE_SETUP],
            check=False,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"},
        )
        if p.returncode:
            raise FleetError(f"rootfs setup failed: see {dest}/build.log")
        (dest / ".complete").touch()
    return dest / "root"
