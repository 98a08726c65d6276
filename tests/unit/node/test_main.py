"""The tool answers with one JSON document, whatever it is asked."""

import json
import os
import subprocess
import sys
from pathlib import Path

import bundles
import pytest
from local_node import Node

OLD = sorted(Path.home().glob(".pyenv/versions/3.*/bin/python3"))


@pytest.mark.parametrize(
    ("words", "stdin", "word"),
    [
        ([], b"{}", "usage"),
        (["dance"], b"{}", "usage"),
        (["install"], b'{"name": "fl', "broken-upload"),
        (["install"], b'{"name": "flash"}', "broken-upload"),
        (["status"], b'{"name": "../etc"}', "usage"),
        (["status"], b"[]", "usage"),
    ],
)
def test_a_request_that_makes_no_sense_is_answered(node: Node, words: list[str], stdin: bytes, word: str) -> None:
    done = subprocess.run([sys.executable, node.tool, *words], input=stdin, capture_output=True, check=False)
    answer = json.loads(done.stdout)
    assert (answer["ok"], answer["error"]["word"], done.returncode, done.stderr) == (False, word, 1, b"")


def test_observe_tells_facts_of_this_machine(node: Node) -> None:
    manifest = bundles.bundle(node.folder / "one", port=node.port)
    manifest["model"]["path"], manifest["engine"]["rehearsal"] = "/no/such", False
    manifest["engine"]["version"] = None
    seen = node.do("observe", manifests=[manifest])
    assert seen["facts"]["host_ram_gib"] > 0
    assert seen["wanted"]["flash"]["engine"]["paths_missing"] == ["/no/such"]
    assert [one["check"] for one in seen["wanted"]["flash"]["problems"]] == ["model"]


@pytest.mark.skipif(not OLD, reason="no other Pythons here")
def test_the_oldest_python_understands_it(node: Node) -> None:
    oldest = next(python for python in OLD if python.parts[-3].startswith("3.8."))
    node.python = str(oldest)
    digest = node.apply()
    assert node.do("status")["current"] == digest
    node.do("stop")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_told(node: Node) -> None:
    node.folder.chmod(0o500)
    assert node.ask("install", archive="")["error"]["word"] == "system"
