"""A log as it arrives: chunks become whole lines, prefixes become rank and text, in bounded memory."""

from __future__ import annotations

import codecs
import json
import re
from typing import Iterator, NamedTuple

# A line without end (a progress bar of hours) is looked at in pieces of this many characters.
PIECE = 1 << 16
TAIL = 1 << 13
_ANSI = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-_])")
STAMP = re.compile(r"\[(\d{4}-\d\d-\d\d \d\d:\d\d:\d\d)(?:[.,]\d+)?(?: ([A-Z]+\d+(?: [A-Z]+\d+)*))?\] ?")
# journald, dmesg, docker, compose, Kubernetes, Ray, torch, uvicorn and loggers put something of their own before the
# text.
_SENDER = r"\S+ (?:kernel|[^\s:\[\]]+\[\d+\]): "
_CARRIER = re.compile(
    r"\s*(?:[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d(?:\.\d+)? \S+ [^\s:\[\]]+(?:\[\d+\])?: "
    rf"|[A-Z][a-z]{{2}} \d{{4}}-\d\d-\d\d \d\d:\d\d:\d\d(?:\.\d+)? [A-Z]+ {_SENDER}"
    rf"|\d{{4}}-\d\d-\d\dT[\d:.,]+[+-]\d\d:?\d\d {_SENDER}"
    r"|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)?(?: std(?:out|err) [FP])? "
    rf"|\[ *\d+\.\d{{6}}\] (?:{_SENDER})?"
    r"|\[pod/[^\]\s]+\] "
    r"|\([\w.]+(?: [\w.]+)* pid=\d+[^)]*\) "
    r"|[\w.@-]+ +\| "
    r"|\[rank\d+\]: "
    r"|(?:INFO|WARNING|ERROR|CRITICAL|DEBUG)(?:: +| \d\d-\d\d \d\d:\d\d:\d\d \[[\w./-]+:\d+\] ?"
    r"| +[a-z_][\w/]*\.(?:py:\d+|[a-z_]\w*(?:\.\w+)*): ))"
)


# docker's json-file, journalctl -o json, and cloud exports hold the line in a field.
_FIELDS = ("log", "MESSAGE", "textPayload")


class Text(NamedTuple):
    """One message of a line: when and by which rank it was written (None: it carries no stamp), and what it says."""

    stamp: str | None
    rank: str | None
    said: str


def read(part: str) -> Text:
    """Take the prefixes off one piece of a line that holds no line break and no carriage return."""
    part = _ANSI.sub("", unwrapped(part))
    found = None
    # A progress bar does not end its line, so that the stamp of the next message can stand in the middle.
    for found in STAMP.finditer(part):  # noqa: B007 (the last one counts)
        pass
    said = part[found.end() :] if found else part
    while True:
        carrier = _CARRIER.match(said)
        if not carrier:
            break
        said = said[carrier.end() :]
    return Text(
        found.group(1) if found else None, (found.group(2) or "") if found else None, said.rstrip().rstrip("│").rstrip()
    )


def unwrapped(line: str) -> str:
    """What a line of JSON carries of the log; any other line as it is."""
    if not line.startswith('{"') or not line.rstrip().endswith("}"):
        return line
    try:
        entry = json.loads(line)
    except (ValueError, RecursionError):
        return line
    carried = next((entry[field] for field in _FIELDS if isinstance(entry.get(field), str)), line)
    return str(carried).rstrip("\n").split("\r")[-1]


def short(said: str, width: int = 160) -> str:
    """The text as it is shown: trimmed, at most `width` characters."""
    said = said.strip()
    return said if len(said) <= width else said[: width - 1] + "…"


class Lines:
    """Cuts a stream of bytes or text into batches that end at a line break, wherever the chunks ended."""

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._open: list[str] = []
        self._length = 0

    def feed(self, chunk: bytes | str) -> Iterator[str]:
        """Give out what has become whole; what comes later than the last line break waits."""
        text = self._decoder.decode(chunk) if isinstance(chunk, bytes) else chunk
        head, cut, rest = text.rpartition("\n")
        if cut:
            whole = "".join([*self._open, head, cut])
            self._open, self._length = [], 0
            yield whole
        if rest:
            self._open.append(rest)
            self._length += len(rest)
        if self._length >= PIECE:
            waiting = "".join(self._open)
            ready = len(waiting) // PIECE * PIECE
            self._open, self._length = [waiting[ready:]], len(waiting) - ready
            yield waiting[:ready]

    @property
    def waiting(self) -> str:
        """The beginning of a line whose end has not come yet."""
        return "".join(self._open)

    def close(self) -> str:
        """The last, unfinished line; nothing comes after it."""
        rest = self.waiting + self._decoder.decode(b"", True)
        self._open, self._length = [], 0
        return rest
