"""What an apply costs a node, against plain Ansible with one task a file, as root: `python benchmarks/fleet.py [N [M]]`.

N nodes (100 if left out) are applied to, and M of them (all if left out) also by the plain playbook.

All nodes are this machine over local connections, each in a network of its own, so that one profile serves them all,
with a folder and a rehearsal engine of its own. The plain playbook copies the same script, environment and unit, has
`systemd_service` start and restart it, and asks `/health` until it answers; as there is no systemd, a shell script plays
`systemctl`, which only makes it cheaper. CPU is that of everything that ran, here and on the nodes, but for the servers.
"""

import ctypes
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Self

BIN = Path(sys.executable).parent
FORKS = "16"
PORT = 30000
_SUBREAPER = 36
_TICK = os.sysconf("SC_CLK_TCK")

PROFILE = """
name: flash
engine: {{version: 0.5.23, venv: {venv}, rehearsal: true}}
model: {{path: /models/none, served_name: tiny}}
hardware: {{devices: [0, 1, 2, 3]}}
parallel: {{tp: 4}}
server: {{port: {port}}}
service: {{supervisor: {supervisor}, user: root}}
env: {{DSV4_REHEARSAL_SPEED: "100"}}
"""
PLAIN = """
- hosts: all
  gather_facts: false
  vars: {bundle: ""}
  tasks:
    - ansible.builtin.file: {path: "{{ plain_root }}/units", state: directory, mode: "0755"}
    - {ansible.builtin.copy: {src: "{{ bundle }}/serve.sh", dest: "{{ plain_root }}/serve.sh", mode: "0755"}, notify: again}
    - {ansible.builtin.copy: {src: "{{ bundle }}/nccl.env", dest: "{{ plain_root }}/nccl.env", mode: "0644"}, notify: again}
    - ansible.builtin.copy: {src: "{{ bundle }}/flash.service", dest: "{{ plain_root }}/units/flash.service", mode: "0644"}
      notify: again
    - ansible.builtin.systemd_service: {name: flash, state: started, enabled: true}
    - ansible.builtin.meta: flush_handlers
    - ansible.builtin.uri: {url: "http://127.0.0.1:PORT/health"}
      register: answer
      until: answer.status == 200
      retries: 30
      delay: 3
  handlers:
    - {name: again, ansible.builtin.systemd_service: {name: flash, state: restarted, daemon_reload: true}}
""".replace("PORT", str(PORT))
PYTHON = """#!/bin/sh
export PATH={folder}/bin:$PATH PLAIN_ROOT={folder}/plain/{node}
exec ip netns exec {node} {python} "$@"
"""
SYSTEMCTL = """#!/bin/sh
cd "$PLAIN_ROOT" || exit 1
alive() { [ -e pid ] && kill -0 "$(cat pid)" 2>/dev/null; }
begin() { setsid ./serve.sh >log 2>&1 </dev/null & echo $! >pid; }
case "$*" in
  show*) alive && state=active || state=inactive; printf 'LoadState=loaded\\nActiveState=%s\\n' $state ;;
  is-enabled*) echo enabled ;;
  start*) alive || begin ;;
  restart*) if alive; then kill "$(cat pid)"; while alive; do sleep 0.1; done; fi; begin ;;
esac
"""


class Ground:
    """The folder of one run, and its nodes."""

    def __init__(self, folder: Path, nodes: int, plain: int) -> None:
        self.folder, self.tag = folder, f"bench{os.getpid()}-"
        self.nodes = [f"{self.tag}{number:03d}" for number in range(nodes)]
        self.few = self.nodes[:plain]

    def __enter__(self) -> Self:
        (self.folder / "bin").mkdir()
        (self.folder / "python").mkdir()
        script(self.folder / "bin/systemctl", SYSTEMCTL)
        (self.folder / "plain.yml").write_text(PLAIN)
        run(BIN / "dsv4deploy", "rehearse", "venv", self.folder / "engine", "--engine", "0.5.23")
        for supervisor in ("process", "systemd"):
            text = PROFILE.format(venv=self.folder / "engine", port=PORT, supervisor=supervisor)
            (self.folder / f"{supervisor}.yaml").write_text(text)
        for node in self.nodes:
            words = {"folder": self.folder, "node": node, "python": sys.executable}
            script(self.folder / "python" / node, PYTHON.format(**words))
            run("ip", "netns", "add", node)
            run("ip", "-n", node, "link", "set", "lo", "up")
        hosts = {node: self._variables(node) for node in self.nodes}
        (self.folder / "nodes.json").write_text(json.dumps({"all": {"hosts": hosts}}))
        return self

    def __exit__(self, *_: object) -> None:
        for process in Path("/proc").glob("[0-9]*"):
            if str(self.folder).encode() in command(process):
                os.kill(int(process.name), signal.SIGKILL)
        for node in self.nodes:
            run("ip", "netns", "del", node)

    def _variables(self, node: str) -> dict[str, str]:
        return {
            "ansible_connection": "local",
            "ansible_python_interpreter": str(self.folder / "python" / node),
            "dsv4_root": str(self.folder / "ours" / node),
            "plain_root": str(self.folder / "plain" / node),
        }

    def ours(self, label: str, *words: str) -> float:
        """The cost of an apply by the command line: look, plan, and what is to be done."""
        apply = [BIN / "dsv4deploy", "apply", "process.yaml", "-i", "nodes.json", "--yes", "--serial", "100%"]
        return self._cost(len(self.nodes), f"dsv4deploy apply, {label}", *apply, "--forks", FORKS, *words)

    def plain(self, label: str, *words: str) -> float:
        """The cost of the plain playbook with the files of the same profile."""
        shutil.rmtree(self.folder / "rendered", ignore_errors=True)
        run(BIN / "dsv4deploy", "render", "systemd.yaml", "-o", "rendered", *words, cwd=self.folder)
        script = self.folder / "rendered/serve.sh"
        play = [BIN / "ansible-playbook", "-i", "nodes.json", "plain.yml", "-e", f"bundle={script.parent}"]
        return self._cost(len(self.few), f"ansible-playbook, {label}", *play, "--limit", ",".join(self.few))

    def _cost(self, nodes: int, label: str, *words: str | Path) -> float:
        before, began = Spent.now(self.folder), time.monotonic()
        run(*words, cwd=self.folder)
        wall = time.monotonic() - began
        each = (Spent.now(self.folder).since(before)) / nodes
        print(f"{label:32} {wall:7.1f} s wall {each:7.3f} CPU s a node", flush=True)
        return each


class Spent:
    """CPU seconds of all that this process ever started, and those of the servers that run now, by pid."""

    def __init__(self, total: float, servers: dict[int, float]) -> None:
        self.total, self.servers = total, servers

    @classmethod
    def now(cls, folder: Path) -> "Spent":
        """Read the kernel's account; what was orphaned came to us and is counted once it has ended."""
        while orphan():
            pass
        ended, processes = os.times(), family(os.getpid())
        total = ended.children_user + ended.children_system + sum(processes.values())
        engine = f"{folder}/engine/".encode()
        servers = {pid: cpu for pid, cpu in processes.items() if engine in command(Path(f"/proc/{pid}"))}
        return cls(total, servers)

    def since(self, before: "Spent") -> float:
        """What was spent meanwhile, without what the servers spent that still run."""
        serving = sum(cpu - before.servers.get(pid, 0.0) for pid, cpu in self.servers.items())
        return self.total - before.total - serving


def orphan() -> bool:
    """Whether an ended orphan was taken leave of."""
    try:
        return os.waitpid(-1, os.WNOHANG)[0] != 0
    except ChildProcessError:
        return False


def family(root: int) -> dict[int, float]:
    """CPU seconds of every process below `root` and of its ended children, by pid."""
    found: dict[int, tuple[int, float]] = {}
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "stat").read_text().rpartition(") ")[2].split()
        except OSError:
            continue
        found[int(process.name)] = (int(words[1]), sum(map(int, words[11:15])) / _TICK)
    below = {root}
    while fresh := {pid for pid, (parent, _) in found.items() if parent in below} - below:
        below |= fresh
    return {pid: found[pid][1] for pid in below - {root}}


def command(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


def script(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def run(*words: str | Path, cwd: Path | None = None) -> None:
    """Run to the end, and take leave of every orphan meanwhile: whoever waits for one to be gone waits for that."""
    with tempfile.TemporaryFile("w+") as said:
        environment = {**os.environ, "ANSIBLE_FORKS": FORKS}
        child = subprocess.Popen(words, stdout=said, stderr=said, cwd=cwd, env=environment)
        ended = (0, 0)
        while ended[0] != child.pid:
            ended = os.wait()
        child.returncode = os.waitstatus_to_exitcode(ended[1])
        if child.returncode:
            said.seek(0)
            sys.exit(f"{words}: {said.read()[-4000:]}")


def main() -> None:
    """Print the table and the two factors."""
    nodes, plain = ([int(word) for word in sys.argv[1:]] * 2)[:2] or (100, 100)
    changed = ("--set", "memory.fraction_static=0.5")
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    with tempfile.TemporaryDirectory() as folder, Ground(Path(folder), nodes, plain) as ground:
        ground.ours("first")
        unchanged = ground.ours("unchanged")
        judged = ground.ours("changed", *changed)
        run(BIN / "dsv4deploy", "stop", "-i", "nodes.json", cwd=ground.folder)
        ground.plain("first")
        plain_unchanged = ground.plain("unchanged")
        plain_changed = ground.plain("changed", *changed)
    print(f"unchanged: {plain_unchanged / unchanged:.1f} times cheaper; changed: {plain_changed / judged:.1f} times")


if __name__ == "__main__":
    main()
