"""Reads a whole log and says what became of the start: state, stage, class, the decisive line, what to do."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import subprocess
import sys
import zlib
from datetime import datetime
from typing import Any, BinaryIO

from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.story import BANDS, Hit, Story

_CHUNK = 1 << 20
_SHOWN = 12
_PACKED: tuple[tuple[bytes, Any], ...] = ((b"\x1f\x8b", gzip.open), (b"BZh", bz2.open), (b"\xfd7zXZ", lzma.open))
_PEEKED = 1 << 13
_BINARY = 0.3


def run(arguments: dict[str, Any]) -> dict[str, Any]:
    """The node tool's `triage`: read `log` (a path, `-`) or the journal of `unit`, with the compiled `signatures`."""
    catalogue = Catalogue(arguments["signatures"])
    if arguments.get("unit"):
        return triage_journal(arguments["unit"], catalogue)
    return triage_file(arguments["log"], catalogue)


def triage_file(path: str, catalogue: Catalogue) -> dict[str, Any]:
    """Judge the file at `path` (`-` is standard input), packed by gzip, bzip2 or xz or not at all.

    Raises:
        OSError: it cannot be read, or is no text.
    """
    if path == "-":
        return triage_stream(_unpacked(sys.stdin.buffer), catalogue)
    with open(path, "rb") as stream:
        return triage_stream(_unpacked(stream), catalogue)


def triage_journal(unit: str, catalogue: Catalogue) -> dict[str, Any]:
    """Judge what the journal holds of a unit.

    Raises:
        OSError: there is no journal here, or it may not be read.
    """
    command = ["journalctl", "--unit", unit, "--output", "cat", "--no-pager", "--all"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as reader:
        told = triage_stream(reader.stdout, catalogue)  # type: ignore[arg-type]
        error = reader.stderr.read().decode(errors="replace").strip()  # type: ignore[union-attr]
    if reader.returncode:
        raise OSError(error or "journalctl failed")
    return told


def _unpacked(stream: BinaryIO) -> BinaryIO:
    """The text in a stream that may be packed, known by its first bytes.

    Raises:
        OSError: it is neither text nor packed text.
    """
    source = stream if isinstance(stream, io.BufferedReader) else io.BufferedReader(stream)  # type: ignore[type-var]
    head = source.peek(_PEEKED)[:_PEEKED]
    for magic, opener in _PACKED:
        if head.startswith(magic):
            return opener(source)  # type: ignore[no-any-return]
    # What was truncated under a process that still writes begins with zeros.
    text = head.replace(b"\0", b"").decode(errors="replace")
    strange = sum(one == "\ufffd" or (one < " " and one not in "\t\n\r\x08\x1b") for one in text)
    if strange > _BINARY * len(text):
        raise OSError("it is no text")
    return source


def triage_stream(stream: BinaryIO, catalogue: Catalogue) -> dict[str, Any]:
    """Judge everything that `stream` gives until its end."""
    story = Story(catalogue)
    try:
        for chunk in iter(lambda: stream.read(_CHUNK), b""):
            story.feed(chunk)
    except (lzma.LZMAError, zlib.error) as error:
        raise OSError(str(error)) from error
    story.close()
    return told(story)


def triage_text(text: bytes | str, catalogue: Catalogue) -> dict[str, Any]:
    """Judge a log that is in memory."""
    story = Story(catalogue)
    story.feed(text)
    story.close()
    return told(story)


def told(story: Story) -> dict[str, Any]:
    """The answer `triage/1` for a log of which there is no more."""
    hit = explanation(story, ended=True)
    state = _state(story, hit)
    decisive = _decisive(story, hit, state)
    answer: dict[str, Any] = {
        "schema": "triage/1",
        "state": state,
        "stage": hit.stage if hit else story.stage,
        "class": None,
        "root": decisive[1],
        "line": decisive[0],
        "rank": hit.rank or None if hit else None,
        "ready_line": story.ready.line if story.ready else None,
        "then": _then(story, hit),
        "stages": _seconds(story),
        "lines": story.last(_SHOWN),
        "total_lines": story.count,
        "starts": story.starts,
        "begins": story.begins,
        "other_engine": story.other,
    }
    if hit:
        answer.update(knowledge(story.catalogue[hit.number], hit.groups))
    return answer


def knowledge(signature: dict[str, Any], groups: dict[str, str]) -> dict[str, Any]:
    """What the catalogue knows about a failure; `groups` is what the line itself named."""
    return {
        "class": signature.get("class"),
        "signature": signature["id"],
        "title": signature["title"],
        "change": signature.get("change") or [],
        "rules": signature.get("rules") or [],
        "remedy": signature.get("remedy"),
        "refute": signature.get("refute"),
        "found": groups,
    }


def explanation(story: Story, ended: bool) -> Hit | None:
    """The hit that explains how it stands; None if nothing failed or nothing is known.

    A bare exception explains only a death, or the end of a log that ends in it before the server was ready.
    """
    if story.dead is not None:
        return story.best(*BANDS)
    told = story.best("cause", "symptom")
    if told is None and ended and story.ready is None and story.stage != "serve" and story.stopped is None:
        last = story.best("bare")
        told = last if last is not None and story.ends_in(last) else None
    advice = story.best("advice")
    return advice if told is None or (advice is not None and advice.line == told.line) else told


def _state(story: Story, hit: Hit | None) -> str:
    if story.ready is not None:
        return "ready"
    if story.dead is not None or (hit is not None and hit.band < BANDS.index("advice")):
        return "failed"
    return "stopped-by-us" if story.stopped is not None else "progressing"


def _decisive(story: Story, hit: Hit | None, state: str) -> tuple[int, str]:
    if hit is not None:
        return hit.line, hit.text
    if state == "failed" and story.dead is not None:
        return story.dead
    if state == "stopped-by-us" and story.stopped is not None:
        return story.stopped
    if story.ready is not None:
        return story.dead or story.ready
    return story.newest


def _seconds(story: Story) -> dict[str, int]:
    """When each stage began, in seconds since the first stamp of this start."""
    if story.begun is None:
        return {}
    begun = _moment(story.begun)
    return {
        stage: int((_moment(stamp) - begun).total_seconds())
        for stage, stamp in story.entered.items()
        if stamp is not None
    }


def _moment(stamp: str) -> datetime:
    try:
        return datetime.strptime(stamp, "%Y-%m-%d %H:%M:%S")  # noqa: DTZ007 (only differences count)
    except ValueError:
        return datetime.min  # noqa: DTZ901 (as above)


def _then(story: Story, hit: Hit | None) -> dict[str, Any] | None:
    """What came after ready."""
    if story.ready is None:
        return None
    if story.dead is not None:
        return {"state": "crashed", "line": story.dead.line}
    if story.stopped is not None:
        return {"state": "stopped-by-us", "line": story.stopped.line}
    if hit is not None and hit.band < BANDS.index("advice"):
        return {"state": "failing", "line": hit.line}
    return None
