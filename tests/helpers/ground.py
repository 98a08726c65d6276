"""A fleet of real systemd nodes for one test: the command line on one side, the nodes' own account on the other."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pexpect  # type: ignore[import-untyped]  # (it comes with ansible-runner, without types)
from bed_node import Node
from testbed import Fleet

COMMAND = Path(sys.executable).parent / "dsv4deploy"
PORT = 30000
_MINE = "DSV4DEPLOY_TEST_GROUND"  # in the environment of all that a test starts
_ALERT = {"ANSIBLE_SSH_EXTRA_ARGS": "-o ServerAliveInterval=2", "ANSIBLE_TIMEOUT": "4"}
_CLEAN = """
systemctl stop flash pearl dsv4deploy-watch-flash dsv4deploy-watch-pearl 2>/dev/null
rm -rf /opt/dsv4deploy /etc/systemd/system/flash.* /etc/systemd/system/pearl.* /etc/systemd/system/dsv4deploy-*
rm -f /etc/systemd/system/multi-user.target.wants/*flash* /etc/systemd/system/multi-user.target.wants/*pearl*
systemctl daemon-reload; systemctl reset-failed 2>/dev/null; true
"""


def profile(name: str = "flash", port: int = PORT, service: str = "user: root", **env: str) -> str:
    """A profile of the rehearsal engine; `env` goes into its environment."""
    variables = {"DSV4_REHEARSAL_SPEED": "20", **env}
    return f"""
name: {name}
engine: {{version: 0.5.23, venv: /opt/rehearsal, rehearsal: true}}
model: {{path: /models/none, served_name: tiny}}
hardware: {{devices: {"[0, 1, 2, 3]" if name == "flash" else "[4, 5, 6, 7]"}}}
parallel: {{tp: 4}}
server: {{port: {port}, host: 0.0.0.0}}
service: {{{service}}}
env: {json.dumps(variables)}
"""


def until(running: subprocess.Popen[str], text: str) -> str:
    """Read what a controller says until it says `text`."""
    said = ""
    assert running.stdout
    for line in running.stdout:
        said += line
        if text in line:
            return said
    raise AssertionError(said)


class Ground:
    """The project folder of a user, and the nodes."""

    here = "/opt/dsv4deploy/flash"
    _clean = _CLEAN
    _parts = "opt/dsv4deploy etc/systemd/system/flash.service etc/systemd/system/dsv4deploy-watch-flash.service"
    _again = "systemctl daemon-reload && systemctl enable -q dsv4deploy-watch-flash && systemctl enable -q --now flash"

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        self.fleet = fleet
        self.folder = folder
        self.inventory = fleet.inventory
        self.write(profile())

    def write(self, text: str, name: str = "profile.yaml") -> None:
        (self.folder / name).write_text(text)

    def node(self, name: str = "gpu01") -> Node:
        found: Node = self.fleet.nodes[name]
        return found

    @property
    def nodes(self) -> list[Node]:
        return list(self.fleet.nodes.values())

    # -- the user's side

    def begin(
        self, *words: str, inventory: Path | None = None, alert: bool = False, **environment: str
    ) -> subprocess.Popen[str]:
        """Start the command line; `alert`: it notices within 6 s instead of 15 that a node is lost."""
        environment = {**(_ALERT if alert else {}), **environment}
        with self.fleet.net():
            return subprocess.Popen(
                [COMMAND, words[0], "-i", str(inventory or self.inventory), *words[1:]],
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
                env={**os.environ, **environment, _MINE: str(self.folder)},
                start_new_session=True,
            )

    def run(
        self, *words: str, inventory: Path | None = None, alert: bool = False, **environment: str
    ) -> tuple[int, str]:
        """Run the command line to its end: exit code and everything it said."""
        running = self.begin(*words, inventory=inventory, alert=alert, **environment)
        out, _ = running.communicate(timeout=600)
        return running.returncode, out

    def run_kernels(self, verb: str, *words: str) -> tuple[int, str]:
        """Run `kernels VERB` on the nodes."""
        with self.fleet.net():
            done = subprocess.run(
                [COMMAND, "kernels", verb, "-i", str(self.fleet.inventory), *words],
                cwd=self.folder,
                capture_output=True,
                text=True,
                check=False,
                timeout=180,
            )
        return done.returncode, done.stdout + done.stderr

    def asked(self, question: str, answer: str, *words: str, inventory: Path) -> tuple[int, str]:
        """Run the command line on a terminal, answer its one question, and return code and what it said after that."""
        with self.fleet.net():
            running = pexpect.spawn(
                str(COMMAND),
                [words[0], "-i", str(inventory), *words[1:]],
                cwd=self.folder,
                encoding="utf-8",
                timeout=120,
            )
        running.expect_exact(question)
        running.sendline(answer)
        running.expect(pexpect.EOF)
        running.close()
        return running.exitstatus, running.before

    def apply(self, *words: str) -> str:
        """Apply, and see that it went well."""
        code, out = self.run("apply", "--yes", *words)
        assert code == 0, out
        return out

    def signal(self, running: subprocess.Popen[str], number: signal.Signals) -> None:
        """Signal the controller and everything it started, those in sessions of their own included."""
        mark = f"{_MINE}={self.folder}".encode()
        for process in [Path("/proc", str(running.pid)), *Path("/proc").glob("[0-9]*")]:
            with contextlib.suppress(OSError):
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), number)

    def old_release(self) -> str:
        """A release that gpu01 serves: applied once for the whole run, and laid down again from a copy from then on."""
        kept = f"/root/{type(self).__name__}.tar"
        if self.shell(f"test -e {kept} && echo kept") == "":
            self.apply("--limit", "gpu01")
            self.shell(f"tar -C / -cf {kept} {self._parts}")
        else:
            self.shell(f"tar -C / -xf {kept} && {self._again}")
            self.eventually(lambda: self.http() == 200)
        return self.release()

    def kill(self, running: subprocess.Popen[str]) -> None:
        """End the controller and everything it started, as a power cut would."""
        self.signal(running, signal.SIGKILL)
        running.communicate()

    # -- the nodes' own account

    def shell(self, script: str, node: str = "gpu01") -> str:
        out: str = self.node(node).exec("sh", "-c", script, check=False).stdout
        return out.strip()

    def pid(self, node: str = "gpu01", unit: str = "flash") -> int:
        return int(self.shell(f"systemctl show -P MainPID {unit}", node) or 0)

    def words(self, node: str = "gpu01", unit: str = "flash") -> list[str]:
        """The arguments of the unit's process, from the kernel."""
        return self.shell(f"tr '\\0' '\\n' < /proc/{self.pid(node, unit)}/cmdline", node).splitlines()

    def environ(self, node: str = "gpu01", unit: str = "flash") -> dict[str, str]:
        lines = self.shell(f"tr '\\0' '\\n' < /proc/{self.pid(node, unit)}/environ", node).splitlines()
        return dict(line.split("=", 1) for line in lines if "=" in line)

    def http(self, node: str = "gpu01", port: int = PORT, path: str = "/health") -> int:
        with self.fleet.net():
            words = [
                "curl",
                "-s",
                "-m",
                "5",
                "-o",
                "/dev/null",
                "-w",
                "%{http_code}",
                f"http://{self.node(node).ip}:{port}{path}",
            ]
            return int(subprocess.run(words, capture_output=True, text=True, check=False).stdout or 0)

    def seen(self, node: str = "gpu01") -> Path:
        """The folder of the deployment from outside, where looking takes no time and the node does not notice."""
        return Path(self.node(node).dir, "root", self.here.lstrip("/"))

    def release(self, node: str = "gpu01", unit: str = "flash") -> str:
        return Path(self.shell(f"readlink {Path(self.here).parent}/{unit}/current", node)).name

    def when(self, running: subprocess.Popen[str], looks: Callable[[Path], bool], node: str = "gpu01") -> None:
        """Wait for the instant at which the folder of a deployment looks so."""
        here = self.seen(node)
        while not looks(here):
            assert running.poll() is None, running.communicate()[0]
            time.sleep(0.001)

    def frozen_when(self, running: subprocess.Popen[str], looks: Callable[[Path], bool], node: str = "gpu01") -> None:
        """Stop a node dead at that instant."""
        self.when(running, looks, node)
        self.node(node).freeze()

    def whole(self, node: str = "gpu01") -> None:
        """See that no half release is on the node, and that the one it has is what its manifest says."""
        left = self.shell(f"ls -a {self.here}/releases | grep -E '^\\.(new|old)' || true", node)
        assert left == "", left
        script = (
            f"import hashlib,json,pathlib as p;h=p.Path('{self.here}/current');"
            "m=json.loads((h/'manifest.json').read_text());"
            "print(m['digest']==h.resolve().name and all("
            "hashlib.sha256((h/f['path']).read_bytes()).hexdigest()==f['sha256'] for f in m['files']))"
        )
        assert self.node(node).exec("python3", "-c", script).stdout.strip() == "True"

    def serves(self, release: str, node: str = "gpu01") -> None:
        """See that `release` runs whole and answers."""
        on_trial = f"ls -A {self.here} | grep -E 'unconfirmed|spare' || true"
        self.eventually(lambda: self.http(node) == 200 and self.shell(on_trial, node) == "")
        assert self.release(node) == release
        self.whole(node)

    def restart(self, how: str, node: str = "gpu01") -> None:
        """Have a node start again: by `reboot`, or after a `power cut`."""
        machine = self.node(node)
        if how == "reboot":
            machine.wait(old_leader=machine.reboot())
        else:
            machine.crash()
            machine.start()
            machine.wait()

    @staticmethod
    def eventually(check: Callable[[], object], limit_s: float = 30) -> None:
        end = time.monotonic() + limit_s
        while not check():
            assert time.monotonic() < end, "it did not happen in time"
            time.sleep(0.1)

    def clean(self) -> None:
        """Make every node as it was."""
        for node in self.nodes:
            node.unfill()
            if node.populated():
                node.freeze(on=False)
            else:
                node.start()
            node.heal()
        for node in self.nodes:
            node.wait()
            node.exec("sh", "-c", self._clean, check=False)


class Unprivileged(Ground):
    """The same without root: a normal user of the nodes, and the process supervisor in that user's home."""

    here = "/home/ops/.local/share/dsv4deploy/flash"
    _parts = "home/ops/.local"
    _again = f'echo \'{{"name": "flash"}}\' | runuser -u ops -- env HOME=/home/ops python3 {here}/node.pyz start'
    _clean = "pkill -KILL -u ops; rm -rf /home/ops/.local /home/ops/.cache; true"

    def __init__(self, fleet: Fleet, folder: Path) -> None:
        super().__init__(fleet, folder)
        self.inventory = folder / "ops.ini"
        self.inventory.write_text(fleet.inventory.read_text().replace("ansible_user=root", "ansible_user=ops"))
        self.write(self.profile())

    @staticmethod
    def profile(stop_s: int = 90, speed: str = "20", log_mib: int = 256) -> str:
        service = f"supervisor: process, timeouts: {{stop_s: {stop_s}}}, log: {{max_mib: {log_mib}}}"
        return profile(service=service, DSV4_REHEARSAL_SPEED=speed)

    def pid(self, node: str = "gpu01", unit: str = "flash") -> int:
        noted = self.shell(f"cat {Path(self.here).parent}/{unit}/run/process.json", node)
        return int(json.loads(noted)["pid"]) if noted else 0


Json = dict[str, Any]
