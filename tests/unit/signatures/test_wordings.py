"""What engines, libraries, kernels and supervisors say of one failure in several versions is understood alike.

`samples/wordings.tsv`: a class, the stage at which it was said, whether the process died of it, and the text.
"""

import csv
import re
from collections import defaultdict
from collections.abc import Callable, Iterator
from itertools import cycle

import pytest
from recorded import CLASSES, SAMPLES, SIGNATURES

from dsv4deploy.node.triage import triage_text

STAMP = "[2026-06-17 23:46:02 TP0] "
REACHED = {
    "args": (),
    "init": ("server_args=ServerArgs(model_path='x')",),
    "load": ("server_args=ServerArgs(model_path='x')", "Load weight begin. avail mem=93.10 GB"),
    "pool": ("Load weight end. elapsed=33.2 s, mem usage=41.9 GB",),
    "capture": ("Load weight end. elapsed=33.2 s", "Capture cuda graph begin. This can take up to several minutes."),
    "warmup": ("Load weight end. elapsed=33.2 s", "INFO:     Started server process [4711]"),
    "serve": ("The server is fired up and ready to roll!", "Prefill batch, #new-seq: 1, #new-token: 512"),
}
WORDINGS: dict[str, list[dict[str, str]]] = defaultdict(list)
with (SAMPLES / "wordings.tsv").open(encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE):
        WORDINGS[row["class"]].append(row)


def said(stage: str, how: str, text: str) -> str:
    """A log in which this is said at that stage."""
    lines = [*REACHED[stage], text]
    if how == "dies":
        frame = (
            'Scheduler hit an exception: Traceback (most recent call last):\n  File "scheduler.py", line 3012, in run'
        )
        lines = [*REACHED[stage], f"{frame}\n{text}", "Received sigquit from a child process. The child failed."]
    return "".join(f"{STAMP}{line}\n" for line in lines)


def test_every_class_has_several_wordings() -> None:
    assert set(WORDINGS) == set(CLASSES)
    assert min(len(rows) for rows in WORDINGS.values()) > 1


@pytest.mark.parametrize("kind", sorted(WORDINGS))
def test_every_wording_of_a_class_is_understood(kind: str) -> None:
    heard = {row["text"]: triage_text(log_of(row), SIGNATURES)["class"] for row in WORDINGS[kind]}
    assert heard == dict.fromkeys(heard, kind)


def every_line(before: str = "", after: str = "") -> Callable[[str], str]:
    return lambda log: "".join(f"{before}{line}{after}\n" for line in log.splitlines())


# How a log is pasted, quoted, followed and shown; what it says stays.
CARRIED: dict[str, Callable[[str], str]] = {
    "a block of code": every_line("    "),
    "a deeper block": every_line("\t\t"),
    "a quotation": every_line("> "),
    "a table": every_line("│ ", " │"),
    "a list": every_line("- "),
    "a fence": "```shell\n{}```\n".format,
    "grep over several files": every_line("logs/server.log:"),
    "a follower of pods": every_line("flash-0 sglang "),
    "a log store": every_line('2026-06-17T23:46:02Z {app="flash"} '),
    "a task's number": every_line("0: "),
    "Windows": lambda log: log.replace("\n", "\r\n"),
    "colours": every_line("\x1b[1;31m", "\x1b[0m"),
    "colours of words": lambda log: re.sub(r"(?m)^(\w[\w.]*): ", "\x1b[1;35m\\1\x1b[0m: \x1b[35m", log),
    "no stamps": lambda log: log.replace(STAMP, ""),
}


def rows() -> Iterator[tuple[str, dict[str, str]]]:
    """Every wording, each with the next way to carry it."""
    yield from zip(cycle(CARRIED), (row for kind in sorted(WORDINGS) for row in WORDINGS[kind]), strict=False)


def log_of(row: dict[str, str]) -> str:
    return said(row["stage"], row["how"], row["text"].replace("\\n", "\n"))


@pytest.mark.parametrize("carrier", CARRIED)
def test_what_carries_a_log_does_not_change_what_it_says(carrier: str) -> None:
    heard = {
        row["text"]: triage_text(CARRIED[carrier](log_of(row)), SIGNATURES)["class"]
        for way, row in rows()
        if way == carrier
    }
    assert heard == {row["text"]: row["class"] for way, row in rows() if way == carrier}


def test_what_another_rank_says_in_between_leads_nobody_astray() -> None:
    """The text of an exception may be taken for another rank's; then it is unknown, and never another class."""
    other = "[2026-06-17 23:46:02 TP3] max_total_num_tokens=1058405\n"
    for kind, of_kind in WORDINGS.items():
        for row in of_kind:
            log = "".join(f"{line}\n{other}" for line in log_of(row).splitlines())
            assert triage_text(log, SIGNATURES)["class"] in {kind, None}, row["text"]
