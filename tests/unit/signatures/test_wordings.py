"""What engines, libraries, kernels and supervisors say of one failure in several versions is understood alike.

`samples/wordings.tsv`: a class, the stage at which it was said, whether the process died of it, and the text.
"""

import csv
from collections import defaultdict

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
    heard = {
        row["text"]: triage_text(said(row["stage"], row["how"], row["text"].replace("\\n", "\n")), SIGNATURES)["class"]
        for row in WORDINGS[kind]
    }
    assert heard == dict.fromkeys(heard, kind)
