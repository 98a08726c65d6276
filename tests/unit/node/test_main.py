"""The tool answers with one JSON document, whatever it is asked."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

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


def everything(node: Node, label: str, **options: Any) -> dict[str, Any]:
    """A request with all that the steps of an apply ask for."""
    manifest = bundles.bundle(node.folder / label, port=node.port, words=("--flag", label), **options)
    wanted = {"manifest": manifest, "digest": manifest["digest"], "confirm": True, "limit_s": 10}
    return {**bundles.archive(node.folder / label), **wanted}


def test_verbs_share_a_trip_while_each_leads_on_to_the_next(node: Node) -> None:
    request = everything(node, "one")
    answer = node.do("stage switch wait", request)
    assert (answer["verb"], answer["state"], answer["changed"]) == ("wait", "ready", True)
    assert [one["verb"] for one in answer["before"]] == ["stage", "switch"]
    again = node.do("stage switch wait", request)
    assert (again["verb"], again["changed"], len(again["before"])) == ("switch", False, 1)


def test_what_stands_in_the_way_is_the_last_word_of_a_trip(node: Node) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", node.port))
        other.listen()
        answer = node.ask("stage switch wait", everything(node, "one"))
    assert (answer["verb"], answer["before"], [one["check"] for one in answer["problems"]]) == ("stage", [], ["ports"])
    assert not (node.here / "current").exists()


def test_a_trial_is_ended_and_what_runs_again_is_judged_in_one_trip(node: Node) -> None:
    first = node.apply()
    failed = node.ask("stage switch wait", everything(node, "two", environment={"COLOR": "blue"}), limit_s=0.1)
    assert failed["verb"] == "wait"
    answer = node.do("restore wait", limit_s=10, last=True)
    assert (answer["digest"], answer["state"], answer["before"][0]["to"]) == (first, "ready", first)
