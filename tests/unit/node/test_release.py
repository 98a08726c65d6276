"""Releases are whole or absent, and always what was sent."""

import base64
import json
import os
import pwd
from pathlib import Path

import bundles
import pytest
from local_node import Node


def test_the_same_release_again_touches_nothing(node: Node) -> None:
    digest = node.install()
    files = sorted((node.here / "releases" / digest).iterdir())
    before = [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files]
    assert node.do("install", bundles.archive(node.folder / "one"))["changed"] is False
    assert [(path.stat().st_ino, path.stat().st_mtime_ns) for path in files] == before


@pytest.mark.parametrize("harm", ["edit", "mode", "remove"])
def test_harm_is_seen_and_repaired(node: Node, harm: str) -> None:
    digest = node.apply()
    victim = node.here / "releases" / digest / "nccl.env"
    if harm == "edit":
        victim.write_text("export COLOR=blue\n")
    elif harm == "mode":
        victim.chmod(0o600)
    else:
        victim.unlink()
    assert [one["path"] for one in node.do("status")["drift"]] == [str(victim)]
    assert node.do("install", bundles.archive(node.folder / "one"))["repaired"] == ["nccl.env"]
    assert node.do("status")["drift"] == []


def test_what_holds_the_environment_is_for_the_server_alone(node: Node) -> None:
    folder = node.here / "releases" / node.install()
    modes = {path.name: oct(path.stat().st_mode & 0o7777) for path in folder.iterdir()}
    assert modes == {"nccl.env": "0o640", "manifest.json": "0o640", "serve.sh": "0o755"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_server_reads_its_environment_through_its_group_and_cannot_change_it(node: Node) -> None:
    digest = node.install(user="nobody")
    file = node.here / "releases" / digest / "nccl.env"
    wanted = (0, pwd.getpwnam("nobody").pw_gid)
    assert (file.stat().st_uid, file.stat().st_gid) == wanted
    os.chown(file, 0, 0)
    assert node.do("install", bundles.archive(node.folder / "one"))["repaired"] == ["nccl.env"]
    assert (file.stat().st_uid, file.stat().st_gid) == wanted


def test_how_a_release_is_judged_changes_while_it_runs(node: Node) -> None:
    digest = node.apply()
    pid, path = node.do("status")["running"]["pid"], node.folder / "one/manifest.json"
    manifest = {**json.loads(path.read_text()), "profile": {"health": {"endpoints": ["/nowhere"]}}}
    path.write_text(json.dumps(manifest))
    assert node.do("preview", digest=digest, manifest=manifest)["changed"] is True
    assert node.do("install", bundles.archive(path.parent))["repaired"] == ["manifest.json"]
    assert node.do("preview", digest=digest, manifest=manifest)["changed"] is False
    switched = node.do("switch", digest=digest)
    assert (switched["changed"], switched["judging"], switched["started"]) == (False, False, False)
    (endpoints,) = node.do("check", only=["endpoints"])["checkup"]["checks"]
    assert "/nowhere" in endpoints["told"]
    after = node.do("status")
    assert (after["running"]["pid"], after["drift"], after["current"]) == (pid, [], digest)
    assert after["history"][-1]["what"] == ["manifest.json"]


def test_an_archive_that_changed_on_the_way_is_refused(node: Node) -> None:
    bundles.bundle(node.folder / "one", port=node.port)
    sent = bundles.archive(node.folder / "one")
    data = bytearray(base64.b64decode(sent["archive"]))
    data[600] ^= 1
    sent["archive"] = base64.b64encode(bytes(data)).decode()
    assert node.ask("install", sent)["error"]["word"] == "broken-upload"
    assert list(node.here.glob("releases/*")) == []


def test_a_file_that_is_not_what_the_manifest_says_is_refused(node: Node) -> None:
    bundles.bundle(node.folder / "one", port=node.port)
    (node.folder / "one/serve.sh").write_text("#!/bin/sh\nrm -rf /\n")
    assert node.ask("install", bundles.archive(node.folder / "one"))["error"]["word"] == "broken-upload"


@pytest.mark.parametrize("deployment", ["flash", "pearl"])
def test_what_a_release_on_the_node_has_need_not_be_sent(node: Node, deployment: str) -> None:
    first = bundles.bundle(node.folder / "one", name=deployment, port=node.port)
    node.do("install", bundles.archive(node.folder / "one"), name=deployment)
    second = bundles.bundle(node.folder / "two", port=node.port, words=("--flag", "two"))
    digests = {entry["path"]: entry["sha256"] for entry in second["files"]}
    assert node.do("held-here", manifest=second)["held"] == [digests["nccl.env"]]
    node.do("install", bundles.archive(node.folder / "two", without="nccl.env"))
    there = node.root / "flash/releases" / second["digest"] / "nccl.env"
    assert there.read_text() == (node.folder / "two/nccl.env").read_text()
    assert there.stat().st_ino != (node.root / deployment / "releases" / first["digest"] / "nccl.env").stat().st_ino


@pytest.mark.parametrize("harm", ["edited", "gone"])
def test_what_no_release_has_whole_must_be_sent(node: Node, harm: str) -> None:
    victim = node.here / "releases" / node.install() / "nccl.env"
    victim.unlink()
    if harm == "edited":
        victim.write_text("export COLOR=blue\n")
    second = bundles.bundle(node.folder / "two", port=node.port, words=("--flag", "two"))
    assert node.do("held-here", manifest=second)["held"] == []
    refused = node.ask("install", bundles.archive(node.folder / "two", without="nccl.env"))
    assert refused["error"]["word"] == "broken-upload"
    assert "nccl.env was not sent" in refused["error"]["message"]
    assert not (node.here / "releases" / second["digest"]).exists()


def test_a_repair_takes_what_is_not_sent_from_the_release_itself(node: Node) -> None:
    digest = node.install()
    (node.here / "releases" / digest / "serve.sh").unlink()
    assert node.do("install", bundles.archive(node.folder / "one", without="nccl.env"))["repaired"] == ["serve.sh"]


def test_an_archive_with_more_than_its_manifest_lists_is_refused(node: Node) -> None:
    bundles.bundle(node.folder / "one", port=node.port)
    (node.folder / "one/more.sh").write_text("true\n")
    refused = node.ask("install", bundles.archive(node.folder / "one"))
    assert refused["error"]["message"] == "the archive holds files that its manifest does not list"


def test_somebody_elses_file_is_left_alone_unless_taken_over(node: Node, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.conf"
    theirs.write_text("mine = yes\n")
    digest = node.install(extra={str(theirs): "# Written by dsv4deploy.\nours = yes\n"})
    refused = node.ask("switch", digest=digest)
    assert (refused["error"]["word"], theirs.read_text()) == ("foreign-file", "mine = yes\n")
    node.do("switch", digest=digest, take_over=True)
    assert theirs.read_text() == "# Written by dsv4deploy.\nours = yes\n"


def test_old_releases_go_but_never_one_that_is_needed(node: Node) -> None:
    made = [node.apply(label) for label in ("one", "two", "three")]
    for age, digest in enumerate(reversed(made)):
        os.utime(node.here / "releases" / digest, (1e9 - age, 1e9 - age))
    assert node.do("prune", keep=1)["removed"] == made[1::-1]
    assert node.do("status")["releases"] == [made[2]]


def test_what_is_not_ours_in_the_releases_folder_stays(node: Node) -> None:
    digest = node.apply()
    theirs = node.here / "releases/.my-notes"
    theirs.mkdir()
    half = node.here / f"releases/.new-{digest}"
    half.mkdir()
    node.do("prune", keep=1)
    assert (theirs.exists(), half.exists()) == (True, False)


def test_what_was_taken_over_comes_back_when_the_release_is_not_healthy(node: Node, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.conf"
    theirs.write_text("mine = yes\n")
    theirs.chmod(0o640)
    digest = node.install(extra={str(theirs): "# Written by dsv4deploy.\nours = yes\n"})
    node.do("switch", digest=digest, take_over=True)
    node.do("restore")
    assert (theirs.read_text(), theirs.stat().st_mode & 0o777) == ("mine = yes\n", 0o640)
