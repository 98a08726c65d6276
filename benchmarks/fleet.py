"""CPU and wall time of applying to many nodes, against plain Ansible with one task a file: `python benchmarks/fleet.py 100`.

All nodes are this machine over local connections, each with a folder, a port and a stand-in server of its own, so that
everything that a controller and its nodes spend is counted. The plain playbook copies the same files and asks the same
`/health`; it starts nothing and judges nothing.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests/helpers"))

import bundles  # noqa: E402 (the helpers of the tests make the bundles)

PLAIN = """
- hosts: all
  gather_facts: false
  tasks:
    - ansible.builtin.file: {path: "{{ plain_root }}", state: directory, mode: "0755"}
    - ansible.builtin.copy: {src: "{{ bundle }}/serve.sh", dest: "{{ plain_root }}/serve.sh", mode: "0755"}
    - ansible.builtin.copy: {src: "{{ bundle }}/nccl.env", dest: "{{ plain_root }}/nccl.env", mode: "0644"}
    - ansible.builtin.copy: {src: "{{ bundle }}/manifest.json", dest: "{{ plain_root }}/manifest.json", mode: "0644"}
    - ansible.builtin.uri: {url: "http://127.0.0.1:{{ port }}/health"}
"""


class Ground:
    """The folder of one run."""

    def __init__(self, folder: Path, nodes: int) -> None:
        self.folder, self.nodes = folder, nodes
        (folder / "plain.yml").write_text(PLAIN)
        self.inventory = folder / "nodes.json"
        self.ports = [bundles.free_port() for _ in range(nodes)]

    def render(self, flag: str) -> None:
        """Bundles that say `flag`, and the inventory that names them."""
        hosts = {}
        for number, port in enumerate(self.ports):
            at = self.folder / flag / f"n{number}"
            bundles.bundle(at, port=port, words=("--flag", flag))
            hosts[f"n{number:03d}"] = {
                "ansible_connection": "local",
                "ansible_python_interpreter": sys.executable,
                "dsv4_bundles": [str(at)],
                "dsv4_root": str(self.folder / f"root{number}"),
                "bundle": str(at),
                "port": port,
                "plain_root": str(self.folder / f"plain{number}"),
            }
        self.inventory.write_text(json.dumps({"all": {"hosts": hosts}}))

    def run(self, label: str, playbook: Path, *words: str) -> float:
        """Run a playbook on all nodes, print what it cost, and return the CPU seconds a node."""
        command = [
            str(Path(sys.executable).parent / "ansible-playbook"),
            "-i",
            str(self.inventory),
            str(playbook),
            *words,
        ]
        before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, env={**os.environ, "ANSIBLE_FORKS": "16"}
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode:
            sys.exit(done.stdout[-3000:])
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        print(f"{label:28} {time.monotonic() - began:6.1f} s wall {cpu / self.nodes:6.3f} CPU s a node")
        return cpu / self.nodes


def main() -> None:
    """Print the table and the two factors."""
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    apply, observe, service = (ROOT / f"playbooks/{name}.yml" for name in ("apply", "observe", "service"))
    from dsv4deploy.rim.nodetool import build  # noqa: PLC0415 (after the path is set)

    with tempfile.TemporaryDirectory() as folder:
        ground = Ground(Path(folder), nodes)
        (Path(folder) / "node.pyz").write_bytes(build())
        ours = ("-e", json.dumps({"dsv4_serial": ["100%"], "dsv4_tool": f"{folder}/node.pyz"}))
        plain = Path(folder) / "plain.yml"
        ground.render("one")
        ground.run("first apply", apply, *ours)
        ground.run("plain, first", plain)
        unchanged = ground.run("unchanged (one look)", observe, *ours)
        ground.run("unchanged (whole playbook)", apply, *ours)
        plain_unchanged = ground.run("plain, unchanged", plain)
        ground.render("two")
        changed = ground.run("changed, restarted, judged", apply, *ours)
        plain_changed = ground.run("plain, changed", plain)
        ground.run("stopped", service, *ours, "-e", "dsv4_name=flash", "-e", "dsv4_verb=stop")
    print(f"unchanged: {plain_unchanged / unchanged:.1f} times cheaper; changed: {plain_changed / changed:.1f} times")


if __name__ == "__main__":
    main()
