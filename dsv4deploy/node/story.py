"""What a log tells of one start: its stages, what was said against it, how it ended."""

from __future__ import annotations

import re
from typing import Iterator, NamedTuple

from dsv4deploy.node.logs import PIECE, STAMP, TAIL, Lines, read, short, unwrapped
from dsv4deploy.node.signatures import Catalogue
from dsv4deploy.node.stages import HINTS, JOINING, MARKS, ORDER, OTHERS, READY, SERVING, START, UNIT_STARTED, progress

# How much a hit weighs; the strongest kind decides, and within it the earliest line.
BANDS = ("cause", "symptom", "bare", "advice")
_KEPT = 20
# A traceback quotes source: a quoted line is what would have been said, its frame at most where.
SOURCE = "    "
FRAME = '  File "'
# The one statement whose own text is the reason: a bare AssertionError follows it.
ASSERTED = "assert "
# What describes a container is indented as deep as source, but is none.
DESCRIBED = re.compile(r'\s+"?(?:Reason|Message|Exit ?Code|OOMKilled|Error)"?:')
# A request or an answer that the server was asked to log (--log-requests): the words are a user's or the model's.
REQUESTED = re.compile(r'(?:Receive|Finish)(?: OpenAI)?: obj=|\{"timestamp": "[^"]*", "event": "request\.')
# Python 3.13 and Rust colour the words of a line one by one.
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
EXCEPTION = re.compile(r"(?:[A-Za-z_]\w*\.)*\w*(?:Error|Exception)(?=:|\(|$)")


class Hit(NamedTuple):
    """A signature that spoke: where, at which stage, and how much it weighs here."""

    number: int
    line: int
    text: str
    stage: str
    rank: str
    band: int
    record: int
    groups: dict[str, str]


class Message(NamedTuple):
    """What one rank said on one line; `record` is where its message began, `raised` whether it can be an exception."""

    line: int
    said: str
    rank: str
    record: int
    raised: bool


class Record(NamedTuple):
    """A message as it was written: where its stamp is in the whole log, whose it is, what stood before the stamp.

    What follows without a stamp (a traceback) was indented, quoted or marked alike.
    """

    at: int
    rank: str
    margin: str


class Line(NamedTuple):
    """A line that decided something."""

    line: int
    text: str


class Story:
    """Reads a log from its first line on and keeps what matters of it; memory does not grow with the log.

    A second start in the same log (`server_args=` again) begins the story anew: `starts` counts them, and the last one
    `begins` at that line. `other` is the engine that wrote the log if it was another than SGLang.
    """

    def __init__(self, catalogue: Catalogue) -> None:
        self.catalogue = catalogue
        self._lines = Lines()
        self._noise = tuple(n for n, signature in enumerate(catalogue.signatures) if signature["says"] == "noise")
        self.count = 0
        self.tail = ""
        self.stamp: str | None = None
        self._at = 0
        self._line_at = 0
        self._record = Record(0, "", "")
        self.starts = 1
        self.begins = 1
        self.other: str | None = None
        self._forget()

    def _forget(self) -> None:
        self.stages: dict[str, str] = {}
        self.joining: set[str] = set()
        self.entered: dict[str, str | None] = {}
        self.begun: str | None = self.stamp
        self.hits: dict[tuple[int, str], Hit] = {}
        self.ready: Line | None = None
        self.stopped: Line | None = None
        self.dead: Line | None = None
        self.final = False
        self._dead_record = -1
        self._muted = -1

    def _again(self, number: int) -> None:
        self.starts, self.begins = self.starts + 1, number
        self._forget()

    def feed(self, chunk: bytes | str) -> None:
        """Read on."""
        for batch in self._lines.feed(chunk):
            self._batch(batch)

    def close(self) -> None:
        """There is no more: the unfinished last line counts as a line."""
        rest = self._lines.close()
        if rest:
            self._batch(rest)
            self.count += not rest.endswith("\n")

    @property
    def stage(self) -> str:
        """The stage that the most advanced rank has reached."""
        return max(self.stages.values(), key=ORDER.__getitem__, default="args")

    @property
    def progress(self) -> dict[str, object] | None:
        """The newest progress bar."""
        return progress(self.tail + self._lines.waiting[-TAIL:])

    def last(self, count: int) -> list[str]:
        """The last lines as people read them: without carriage returns, colours and what a bar overwrote."""
        text = (self.tail + self._lines.waiting[-TAIL:]).rstrip("\n")
        return [short(unwrapped(line).split("\r")[-1], 400) for line in text.split("\n")[-count:]] if text else []

    @property
    def newest(self) -> Line:
        """The last line that says something."""
        waiting = self._lines.waiting
        ends = len(self.tail) - len(self.tail.rstrip("\n"))
        number = self.count + 1 if waiting else self.count - max(ends - 1, 0)
        for line in reversed(self.last(_KEPT)):
            if line.strip():
                return Line(number, short(line))
            number -= 1
        return Line(max(number, 0), "")

    def best(self, *bands: str) -> Hit | None:
        """The hit that explains most, of those of these bands.

        A stronger band wins; then a class that another one stands over loses; then the earliest line wins.
        """
        newest = self.last(_KEPT)
        hits = [hit for hit in self.hits.values() if BANDS[hit.band] in bands]
        hits = [hit for hit in hits if not self.catalogue.refuted(hit.number, newest)]
        if not hits:
            return None
        strongest = min(hit.band for hit in hits)
        hits = [hit for hit in hits if hit.band == strongest]
        beaten = {name for hit in hits for name in self.catalogue[hit.number].get("over") or ()}
        left = [hit for hit in hits if self._class(hit) not in beaten] or hits
        return min(left, key=lambda hit: (hit.line, self._class(hit) is None, hit.number))

    def _class(self, hit: Hit) -> str | None:
        kind: str | None = self.catalogue[hit.number].get("class")
        return kind

    def ends_in(self, hit: Hit) -> bool:
        """Whether the log ends in the message of this hit, as it does when a traceback was its last words."""
        return hit.record == self._record.at

    # Reading. Only lines that hold one of the texts looked for are ever taken apart.

    def _batch(self, batch: str) -> None:
        if "\x1b" in batch:
            batch = COLOUR.sub("", batch)
        number, counted, known = self.count, 0, 0
        for start, end in self._candidates(batch):
            number += batch.count("\n", counted, start)
            counted = start
            self._record = self._record_of(batch, known, end)
            known = end
            self._line(number + 1, batch[start:end], self._record)
        self.count += batch.count("\n")
        self._record = self._record_of(batch, known, len(batch))
        newline = batch.rfind("\n")
        if newline >= 0:
            self._line_at = self._at + newline + 1
        self._at += len(batch)
        self.tail = (self.tail + batch[-TAIL:])[-TAIL:]

    def _candidates(self, batch: str) -> Iterator[tuple[int, int]]:
        """Start and end of every piece of a line that holds a text looked for, in order, each once."""
        lines_from = 0 if self._at == self._line_at else batch.find("\n") + 1 or len(batch)
        places = self.catalogue.search.places(batch, lines_from)
        if not self.stages:
            places.update(at for at in (batch.find(find) for find in SERVING) if at >= 0)
        done = -1
        for at in sorted(places):
            if at < done:
                continue
            start, end = self._piece(batch, at)
            while start < end and start >= done:
                yield start, end
                done = end
                # The rest of a line longer than a piece may hold another text.
                follows = end < len(batch) and batch[end] != "\n"
                start, end = self._piece(batch, end) if follows else (end, end)

    def _piece(self, batch: str, at: int) -> tuple[int, int]:
        line = batch.rfind("\n", 0, at) + 1
        begin = line or self._line_at - self._at
        start = max(0, begin + (at - begin) // PIECE * PIECE)
        newline = batch.find("\n", at)
        end = len(batch) if newline < 0 else newline
        return start, min(end, begin + ((at - begin) // PIECE + 1) * PIECE)

    def _record_of(self, batch: str, known: int, end: int) -> Record:
        """The message that a line belongs to that ends there; what is before `known` was looked through."""
        at = end
        while True:
            at = batch.rfind("[20", known, at)
            if at < 0:
                return self._record
            stamp = STAMP.match(batch, at)
            if stamp:
                margin = batch[batch.rfind("\n", 0, at) + 1 : at]
                return Record(self._at + at, stamp.group(2) or "", margin)

    def _line(self, number: int, line: str, record: Record) -> None:
        for part in line.split("\r"):
            text = read(part[len(record.margin) :] if part.startswith(record.margin) else part)
            if not text.said:
                continue
            self.stamp = text.stamp or self.stamp
            self.begun = self.begun or self.stamp
            rank = record.rank if text.rank is None else text.rank
            # A message with a stamp of its own is the engine talking; an exception's text follows one without.
            raised = text.stamp is None or record.at == self._dead_record or bool(EXCEPTION.match(text.said))
            self._message(Message(number, text.said, rank, record.at, raised))

    def _message(self, message: Message) -> None:
        if REQUESTED.match(message.said):
            return
        self._mark(message.line, message.said, message.rank)
        if self.stopped is not None or message.record == self._muted or message.said.startswith(START):
            return
        if _quoted(message.said):
            return
        said = message.said
        heard = self.catalogue.heard(said, message.raised)
        noise = [n for n in self._noise if n in heard]
        if any(self.catalogue[n].get("block") for n in noise):
            self._muted = message.record
        for owner in sorted(heard):
            signature = self.catalogue[owner]
            if said.startswith(FRAME) and signature["says"] != "bare":
                continue
            if not noise or signature.get("loud"):
                self._hear(owner, message, heard[owner])

    def _stage_of(self, rank: str) -> str:
        """The stage of a rank; whoever has none speaks of the rank that is furthest."""
        return (self.stages.get(rank) or self.stages.get("") if rank else None) or self.stage

    def _hear(self, owner: int, message: Message, groups: dict[str, str]) -> None:
        signature, stage = self.catalogue[owner], self._stage_of(message.rank)
        if signature.get("stages") and stage not in signature["stages"]:
            return
        says, text = signature["says"], short(message.said)
        if says == "stop":
            self.stopped = Line(message.line, text)
            return
        if says in BANDS:
            band, record = self._band(says, message.record), message.record
            hit = Hit(owner, message.line, text, stage, message.rank, band, record, groups)
            known = self.hits.get((owner, hit.rank))
            if known is None or hit.band < known.band:
                self.hits[owner, hit.rank] = hit
        if (signature.get("dead") or says == "death") and self.dead is None:
            self.dead, self._dead_record = Line(message.line, text), message.record
        self.final = self.final or bool(signature.get("final"))

    def _band(self, says: str, record: int) -> int:
        """How much it weighs: the last words of a dying process count as a symptom at least, what follows less."""
        band = BANDS.index(says)
        if self.dead is None:
            return band
        if record == self._dead_record:
            return min(band, BANDS.index("symptom")) if says == "advice" else band
        return min(band + 1, BANDS.index("bare")) if says != "advice" else band

    def _mark(self, number: int, said: str, rank: str) -> None:
        join = JOINING.search(said)
        if join:
            (self.joining.add if join.group("what") == "begin" else self.joining.discard)(rank)
        if UNIT_STARTED.match(said) and (self.stages or self.hits or self.dead or self.stopped):
            self._again(number)
        for find, match, stage, everyone in MARKS:
            if find in said and (match is None or match.search(said)):
                self._enter(number, said, stage, rank, everyone)
                return
        for find, stage in HINTS:
            if find in said and ORDER[stage] > ORDER[self._stage_of(rank)]:
                self._advance(stage, rank)
                return
        if not self.stages:
            self.other = self.other or next((engine for find, engine in OTHERS if find in said), None)
            if any(find in said for find in SERVING):
                self._advance("serve", rank)

    def _enter(self, number: int, said: str, stage: str, rank: str, everyone: bool) -> None:
        if said.startswith(START):
            self.other = None
            if self.stages:
                self._again(number)
        if READY in said:
            if self.stopped is not None:
                return
            self.ready, self.dead, self.final = Line(number, short(said)), None, False
            self.hits.clear()
        self.entered.setdefault(stage, self.stamp)
        if everyone:
            self.stages = {"": stage}
            if stage != "serve":
                self._outlived(None)
        else:
            self._advance(stage, rank)

    def _advance(self, stage: str, rank: str) -> None:
        further = ORDER[stage] > ORDER[self._stage_of(rank)]
        self.stages[rank] = stage
        self.entered.setdefault(stage, self.stamp)
        if further:
            self._outlived(rank)

    def _outlived(self, rank: str | None) -> None:
        """What a process said before it went on to its next stage did not stop it."""
        if self.dead is None and not self.final:
            for key in [key for key in self.hits if rank is None or key[1] == rank]:
                del self.hits[key]


def _quoted(said: str) -> bool:
    """Whether a line is source that a traceback quotes, which nobody said."""
    return said.startswith(SOURCE) and not said.lstrip().startswith(ASSERTED) and not DESCRIBED.match(said)
