"""What a profile says arrives byte for byte through a real systemd, out of its sandbox."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from bed_node import Node
from house import bundle_of, looked
from profiles import HOSTILE
from testbed import Fleet

from dsv4deploy.model.bundle import Bundle

pytestmark = pytest.mark.fleet
# Stands where the engine's interpreter would; says on its output how it was called and what it may do.
RECORDER = r"""#!/usr/bin/python3
import json, os, sys
def can(path, mode):
    try:
        with open(path, mode):
            return True
    except OSError:
        return False
words = [os.fsencode(word).hex() for word in sys.argv[1:]]
names = {os.fsencode(k).hex(): os.fsencode(v).hex() for k, v in os.environ.items()}
asked = json.loads(os.environ["ASKED"])
print("said " + json.dumps({"argv": words, "env": names, "can": [can(path, mode) for path, mode in asked]}), flush=True)
"""
WRITABLE = ["/srv/a b", "/srv/100% %n", "/srv/é:x", '/srv/q"uote', "/srv/back\\slash"]
READABLE = ["/home/a b/read", "/home/p%h/x:y"]
KEY, LOG = "/etc/my keys/100%", "/var/log/a b %n.log"


def put(node: Node, path: str, content: bytes, mode: str) -> None:
    script = 'mkdir -p "$(dirname "$1")" && base64 -d > "$1" && chmod "$2" "$1"'
    encoded = base64.b64encode(content).decode()
    node.exec("sh", "-c", f'printf %s "$3" | (set -- "$1" "$2"; {script})', "sh", path, mode, encoded)


def installed(node: Node, bundle: Bundle) -> None:
    for artifact in bundle.files:
        path = artifact.dest or f"/opt/dsv4deploy/{bundle.name}/current/{artifact.path}"
        put(node, path, artifact.text, artifact.mode)
        if not int(artifact.mode, 8) & 0o007:  # as apply does: the server reads it through its group
            node.exec("chgrp", "sglang", path)


def said(node: Node, bundle: Bundle) -> dict[str, Any]:
    node.exec("sh", "-c", f"systemctl daemon-reload && systemctl start {bundle.name}")
    node.exec("sh", "-c", f"while systemctl is-active -q {bundle.name}; do sleep 0.1; done")
    log = node.exec("cat", LOG).stdout
    answer: dict[str, Any] = json.loads(log.split("said ", 1)[1].splitlines()[0])
    return answer


def test_hostile_values_and_paths_arrive_and_nothing_else_is_open(whole_fleet: Fleet, tmp_path: Path) -> None:
    node = whole_fleet.nodes["gpu03"]
    asked = [
        *([f"{path}/file", "w"] for path in WRITABLE),
        *([f"{path}/file", "r"] for path in READABLE),
        *([path, "w"] for path in ("/etc/x", "/opt/x", "/usr/x", "/var/lib/x")),
        *([path, "r"] for path in ("/home/other/secret", "/root/.bashrc")),
    ]
    profile = {
        "name": "awkward",
        "engine": {"version": "0.5.23", "venv": "/opt/recorder"},
        "model": {"path": "/m", "served_name": "it's $(id) `id` %n é\n-x"},
        "env": {f"HOSTILE_{at}": value for at, value in enumerate(HOSTILE)} | {"ASKED": json.dumps(asked)},
        "server": {"api_key_file": KEY},
        "service": {
            "log": {"target": "file", "path": LOG},
            "restart": {"policy": "no"},
            "sandbox": {"writable": WRITABLE, "readable": READABLE},
        },
    }
    bundle = bundle_of(looked(yaml.safe_dump(profile)))
    put(node, "/opt/recorder/bin/python", RECORDER.encode(), "0755")
    put(node, KEY, b"sk-canary", "0600")
    node.exec("useradd", "--system", "sglang", check=False)
    for path in (*WRITABLE, *READABLE, "/home/other"):
        put(node, f"{path}/secret", b"", "0644")
        put(node, f"{path}/file", b"", "0644")
        node.exec("chown", "-R", "sglang", path)
    installed(node, bundle)
    answer = said(node, bundle)
    words = [bytes.fromhex(word).decode() for word in answer["argv"]]
    variables = {bytes.fromhex(k).decode(): bytes.fromhex(v).decode() for k, v in answer["env"].items()}
    assert words[words.index("--") + 1 :] == [*bundle.facts["argv"]]  # type: ignore[misc]
    assert [variables[f"HOSTILE_{at}"] for at in range(len(HOSTILE))] == HOSTILE
    assert f"--api-key-file={variables['CREDENTIALS_DIRECTORY']}/api_key" in words
    open_ = len(WRITABLE) + len(READABLE)
    assert answer["can"] == [True] * open_ + [False] * (len(asked) - open_)
