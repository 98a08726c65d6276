"""A server that stands aside for an experiment comes back: with the experiment's end, or when nobody is there to end it."""

import json
import time
from collections.abc import Callable

import bundles
from local_node import Node

Until = Callable[..., None]
ADA = {"token": "ada-1", "who": "ada@laptop"}
LONG_S, LOOKS_S = 3600, 2.5  # more than a test takes, and more than two looks of the watch


def stands_aside(node: Node) -> None:
    assert node.do("aside", holder=ADA, window_s=LONG_S)["changed"]
    assert node.flag() is None


def unseen(node: Node) -> None:
    """Its holder was seen last before all patience."""
    note = json.loads((node.here / "aside").read_text())
    (node.here / "aside").write_text(json.dumps({**note, "seen": -2 * LONG_S}))


def test_it_comes_back_when_nobody_is_seen_any_more(node: Node, eventually: Until) -> None:
    node.apply("one")
    stands_aside(node)
    assert node.do("status")["aside"]["who"] == "ada@laptop"
    unseen(node)
    eventually(lambda: node.flag() == "one")
    eventually(lambda: node.do("status")["aside"] is None)
    assert [entry["verb"] for entry in node.do("history")["history"]][-2:] == ["stop", "start"]


def test_only_its_holder_keeps_it_aside_for_longer(node: Node) -> None:
    node.apply("one")
    stands_aside(node)
    since = json.loads((node.here / "aside").read_text())["seen"]
    node.do("renew", holder={**ADA, "token": "bob-1"})
    assert json.loads((node.here / "aside").read_text())["seen"] == since
    node.do("renew", holder=ADA)
    assert json.loads((node.here / "aside").read_text())["seen"] > since
    time.sleep(LOOKS_S)
    assert node.flag() is None


def test_what_its_holder_does_elsewhere_on_the_node_counts_and_ends_with_them(node: Node, eventually: Until) -> None:
    node.apply("one")
    stands_aside(node)
    arm = bundles.bundle(node.folder / "arm", name="arm", port=node.port)
    node.do("install", bundles.archive(node.folder / "arm"), name="arm", holder=ADA)
    node.do("switch", name="arm", digest=arm["digest"], holder=ADA)
    unseen(node)
    time.sleep(LOOKS_S)
    assert node.flag() is None
    (node.root / "arm" / "lock").write_text("")
    eventually(lambda: node.flag() == "one")
    assert node.do("status", name="arm")["running"] is None


def test_it_ends_with_the_holders_start_and_with_anybodys_stop(node: Node) -> None:
    node.apply("one")
    stands_aside(node)
    assert node.do("start", holder=ADA)["changed"]
    assert (node.flag(), node.do("status")["aside"]) == ("one", None)
    stands_aside(node)
    node.do("stop", holder={"token": "bob-1", "who": "bob"})
    time.sleep(LOOKS_S)
    assert (node.flag(), node.do("status")["aside"]) == (None, None)


def test_what_does_not_run_cannot_stand_aside_and_will_not_come_back(node: Node) -> None:
    node.apply("one")
    node.do("stop")
    assert not node.do("aside", holder=ADA, window_s=LONG_S)["changed"]
    assert not (node.here / "aside").exists()
