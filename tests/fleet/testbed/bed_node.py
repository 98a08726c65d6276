"""One node: a systemd-nspawn container with a real systemd and sshd, how it lives, and what can go wrong with it."""

import contextlib
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import time
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from bed_host import SUBNET, FleetError, netns, sh, size_bytes

if TYPE_CHECKING:
    from testbed import Fleet

HERE = pathlib.Path(__file__).resolve().parent


class Node:
    def __init__(self, fleet: "Fleet", name: str, index: int) -> None:
        self.fleet, self.name, self.index = fleet, name, index
        self.dir = fleet.dir / "nodes" / name
        self.ip = f"{SUBNET}.{10 + index}"
        self.mac = f"02:db:00:00:00:{index:02x}"
        self.netns = f"{fleet.name}-{name}"
        self.port = f"v-{name}"
        self.cgrel = f"dsv4-testbed/{fleet.name}/{name}"
        self.cg = fleet.cgroot / self.cgrel
        self.supervisor: subprocess.Popen[bytes] | None = None

    # -- state
    @property
    def leader(self) -> int | None:
        """The host's pid of the node's PID 1, or None."""
        try:
            pids = (self.cg / "payload/init.scope/cgroup.procs").read_text().split()
        except OSError:
            return None
        for pid in sorted(map(int, pids)):
            with contextlib.suppress(OSError):
                nspid = re.search(r"^NSpid:\s+(.*)$", pathlib.Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
                if nspid and nspid[1].split()[-1] == "1":
                    return pid
        return None

    def populated(self) -> bool:
        try:
            return "populated 1" in (self.cg / "cgroup.events").read_text()
        except OSError:
            return False

    def exec_argv(self, *cmd: str) -> list[str]:
        pid = self.leader
        if not pid:
            raise FleetError(f"{self.name} is not running")
        return [
            "nsenter",
            "-t",
            str(pid),
            "-m",
            "-u",
            "-i",
            "-n",
            "-p",
            "-C",
            "-r",
            "-w",
            "env",
            "-i",
            "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME=/root",
            "LANG=C.UTF-8",
            "SYSTEMD_COLORS=0",
            *cmd,
        ]

    def exec(self, *cmd: str, check: bool = True, timeout: float = 60) -> subprocess.CompletedProcess[str]:
        """Run a command in the node by the back door (no ssh, no network)."""
        return sh(*self.exec_argv(*cmd), check=check, timeout=timeout)

    # -- life
    def create(
        self,
        *,
        lower: Sequence[pathlib.Path],
        disk: str,
        hostkey: pathlib.Path,
        authorized: str,
        hosts: str,
        files: Sequence[tuple[str, str]],
    ) -> None:
        d = self.dir
        for sub in ("disk", "root"):
            (d / sub).mkdir(parents=True)
        sh("mount", "-t", "tmpfs", "-o", f"size={size_bytes(disk)},mode=0755", f"tb-{self.name}", d / "disk")
        (d / "disk/upper").mkdir()
        (d / "disk/work").mkdir()
        sh(
            "mount",
            "-t",
            "overlay",
            f"tb-{self.name}",
            "-o",
            f"lowerdir={':'.join(map(str, lower))},upperdir={d}/disk/upper,workdir={d}/disk/work",
            d / "root",
        )
        root = d / "root"
        (root / "etc/machine-id").write_text(uuid.uuid4().hex + "\n")
        (root / "etc/hostname").write_text(self.name + "\n")
        (root / "etc/hosts").write_text(hosts)
        for suffix, mode in (("", 0o600), (".pub", 0o644)):
            to = root / f"etc/ssh/ssh_host_ed25519_key{suffix}"
            shutil.copyfile(f"{hostkey}{suffix}", to)
            to.chmod(mode)
        for home, uid in (("root", 0), ("home/ops", 1000)):
            ssh = root / home / ".ssh"
            ssh.mkdir(mode=0o700, exist_ok=True)
            (ssh / "authorized_keys").write_text(authorized)
            (ssh / "authorized_keys").chmod(0o600)
            for p in (ssh, ssh / "authorized_keys"):
                os.chown(p, uid, uid)
        for src, dst in files:
            to = root / dst.lstrip("/")
            to.parent.mkdir(parents=True, exist_ok=True)
            if pathlib.Path(src).is_dir():
                shutil.copytree(src, to, symlinks=True, dirs_exist_ok=True)
            else:
                shutil.copy2(src, to)

    def start(self) -> None:
        if self.populated():
            raise FleetError(f"{self.name} is already running")
        if not (self.dir / "cut").exists():
            sh("ip", "-n", self.fleet.name, "link", "set", self.port, "up")
        log = (self.dir / "console.log").open("ab")
        self.supervisor = subprocess.Popen(
            [
                "unshare",
                "--mount",
                "--propagation",
                "private",
                "/bin/bash",
                str(HERE / "supervise"),
                self.cgrel,
                str(self.dir / "root"),
                self.netns,
                f"{self.fleet.name}-{self.name}",
                self.name,
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            cwd="/",
            env={"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"},
        )
        log.close()

    def wait(self, timeout: float = 60, old_leader: int | None = None) -> str:
        """Until sshd answers and systemd says the boot is over."""
        end = time.monotonic() + timeout
        with netns(self.fleet.name):
            while True:
                pid = self.leader
                if pid and pid != old_leader:
                    try:
                        with socket.create_connection((self.ip, 22), timeout=2) as s:
                            if s.recv(4) == b"SSH-":
                                break
                    except OSError:
                        pass
                if time.monotonic() > end:
                    raise FleetError(f"{self.name} did not come up in {timeout} s: see {self.dir}/console.log")
                time.sleep(0.05)
        left = max(1, end - time.monotonic())
        state = self.exec("systemctl", "is-system-running", "--wait", check=False, timeout=left).stdout.strip()
        if state not in ("running", "degraded"):
            raise FleetError(f"{self.name}: systemd says {state!r}")
        return state

    def stop(self, timeout: float = 30) -> None:
        """A clean power-off, asked of the node's systemd."""
        pid = self.leader
        if pid:
            os.kill(pid, signal.SIGRTMIN + 4)  # systemd: start poweroff.target
        end = time.monotonic() + timeout
        while self.populated():
            if time.monotonic() > end:
                raise FleetError(f"{self.name} did not power off in {timeout} s")
            time.sleep(0.03)
        self._unplug()

    def _unplug(self) -> None:
        if self.supervisor is not None:
            self.supervisor.wait()
        # A machine that is off answers no ARP; without this its kernel-side
        # interface would still refuse connections, which reads as "sshd is down".
        sh("ip", "-n", self.fleet.name, "link", "set", self.port, "down", check=False)
        sh("ip", "-n", self.fleet.name, "neigh", "flush", "dev", "br0", "to", self.ip, check=False)

    def reboot(self) -> int:
        pid = self.leader
        if not pid:
            raise FleetError(f"{self.name} is not running")
        os.kill(pid, signal.SIGRTMIN + 5)  # systemd: start reboot.target
        return pid

    def crash(self) -> None:
        """Power cut: every process of the node dies at once; the disk stays."""
        with contextlib.suppress(OSError):
            (self.cg / "cgroup.freeze").write_text("0")
        with contextlib.suppress(OSError):
            (self.cg / "cgroup.kill").write_text("1")
        end = time.monotonic() + 10
        while self.populated():
            if time.monotonic() > end:
                raise FleetError(f"{self.name}: processes survive cgroup.kill")
            time.sleep(0.02)
        for d in sorted(self.cg.glob("**/"), key=lambda p: -len(p.parts)):
            with contextlib.suppress(OSError):
                d.rmdir()
        self._unplug()

    def destroy(self) -> None:
        self.crash()
        for m in ("root", "disk"):
            p = self.dir / m
            for _ in range(20):
                if not os.path.ismount(p) or sh("umount", p, check=False).returncode == 0:
                    break
                time.sleep(0.05)
            else:
                sh("umount", "-l", p, check=False)
        sh("ip", "netns", "del", self.netns, check=False)

    # -- faults
    def cut(self, *, silent: bool = False) -> None:
        """Take the node off the network: 'no route to host' after the ARP time-out (3 s).

        silent: packets vanish, so only time-outs tell.
        """
        (self.dir / "cut").touch()
        if silent:
            sh(
                "ip",
                "-n",
                self.fleet.name,
                "neigh",
                "replace",
                self.ip,
                "lladdr",
                self.mac,
                "dev",
                "br0",
                "nud",
                "permanent",
            )
        sh("ip", "-n", self.fleet.name, "link", "set", self.port, "down")
        if not silent:
            sh("ip", "-n", self.fleet.name, "neigh", "flush", "dev", "br0", "to", self.ip, check=False)

    def heal(self) -> None:
        (self.dir / "cut").unlink(missing_ok=True)
        if self.populated():
            sh("ip", "-n", self.fleet.name, "link", "set", self.port, "up")
        sh("ip", "-n", self.fleet.name, "neigh", "del", self.ip, "dev", "br0", check=False)
        sh("tc", "-n", self.fleet.name, "qdisc", "del", "dev", self.port, "root", check=False)

    def slow(self, rate: str) -> None:
        sh(
            "tc",
            "-n",
            self.fleet.name,
            "qdisc",
            "replace",
            "dev",
            self.port,
            "root",
            "tbf",
            "rate",
            rate,
            "burst",
            "16kb",
            "latency",
            "400ms",
        )

    def freeze(self, *, on: bool = True) -> None:
        """Hang the whole node: TCP connects still succeed (up to the backlog), nothing answers."""
        (self.cg / "payload/cgroup.freeze").write_text("1" if on else "0")

    def fill(self, leave: str = "0") -> None:
        """Fill the node's disk from outside its tree; nothing in the node can free it."""
        self.unfill()
        st = os.statvfs(self.dir / "disk")
        n = st.f_bavail * st.f_frsize - size_bytes(leave)
        fd = os.open(self.dir / "disk/filler", os.O_CREAT | os.O_WRONLY, 0o600)
        try:
            while n > 0:
                try:
                    os.posix_fallocate(fd, 0, n)
                    break
                except OSError:
                    n -= 4096
        finally:
            os.close(fd)

    def unfill(self) -> None:
        (self.dir / "disk/filler").unlink(missing_ok=True)

    def kill_unit(self, unit: str, sig: str = "KILL", who: str = "main") -> None:
        self.exec("systemctl", "kill", f"--kill-who={who}", f"--signal={sig}", unit)

    def status(self) -> dict[str, Any]:
        st = os.statvfs(self.dir / "disk")
        used, total = (st.f_blocks - st.f_bfree) * st.f_frsize >> 20, st.f_blocks * st.f_frsize >> 20
        pid = self.leader
        state = "stopped"
        if pid:
            frozen = (self.cg / "payload/cgroup.freeze").read_text().strip() == "1"
            state = "frozen" if frozen else self.exec("systemctl", "is-system-running", check=False).stdout.strip()
        link = (
            "up"
            if "UP"
            in sh("ip", "-n", self.fleet.name, "-br", "link", "show", self.port, check=False).stdout.split("<")[-1]
            else "cut"
        )
        return {"name": self.name, "ip": self.ip, "state": state, "link": link, "pid": pid, "disk": f"{used}/{total}M"}
