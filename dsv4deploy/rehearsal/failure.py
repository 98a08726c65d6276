"""The failure scripts: how a start or a server ends, one file each, from a recorded log or from words that others saw."""

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, Literal

import yaml
from packaging.version import Version

# How an exception looks, by where it was raised; the frames are those of 0.5.17. `{error}` is the script's own.
_WRAPPED = {
    "raises": """\
<now> Scheduler hit an exception: Traceback (most recent call last):
  File "<site>/sglang/srt/managers/scheduler.py", line 4931, in run_scheduler_process
    scheduler = Scheduler(
                ^^^^^^^^^^
  File "<site>/sglang/srt/managers/scheduler.py", line 498, in __init__
    self.init_model_worker()
{error}

""",
    "captures": """\
<now> Scheduler hit an exception: Traceback (most recent call last):
  File "<site>/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py", line 415, in __init__
    self.capture()
  File "<site>/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py", line 861, in capture
    self._capture_one_stream()
RuntimeError: {error}

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "<site>/sglang/srt/managers/scheduler.py", line 4931, in run_scheduler_process
    scheduler = Scheduler(
                ^^^^^^^^^^
  File "<site>/sglang/srt/model_executor/runner/decode_cuda_graph_runner.py", line 417, in __init__
    raise Exception(
Exception: Capture cuda graph failed: {error}
Possible solutions:
1. set --mem-fraction-static to a smaller value (e.g., 0.8 or 0.7)
2. set --cuda-graph-max-bs-decode to a smaller value (e.g., 16)
3. disable decode CUDA graph by --cuda-graph-backend-decode=disabled. (Not recommended. Huge performance loss)
Open an issue on GitHub https://github.com/sgl-project/sglang/issues/new/choose

""",
    "serves": """\
<now> Scheduler hit an exception: Traceback (most recent call last):
  File "<site>/sglang/srt/managers/scheduler.py", line 4947, in run_scheduler_process
    scheduler.run_event_loop()
  File "<site>/sglang/srt/managers/scheduler.py", line 1640, in run_event_loop
    dispatch_event_loop(self)
{error}

""",
}


@dataclass(frozen=True, slots=True)
class Failure:
    """One failure script.

    Attributes:
        name: file name without suffix.
        triage: the class that a judge should find; None if nothing failed (a stall that is progress).
        stage: where it is played.
        by: which process: a scheduler (`rank`) or the leader.
        end: `sigquit` (a scheduler signals its parent), `exit`, `hang`, `kill`, `signal N`, `continue`.
        code: exit code of `exit`.
        ranks: which schedulers play it unless somebody says otherwise.
        kind: `recorded` where the lines stand so in a log of the engine, `cited` where others reported the words.
        source: what was run, or the address of the report.
        log: of recorded lines, the log below `tests/samples` in which they stand.
        text: the lines; `<now>` begins one with time and rank.
    """

    name: str
    triage: str | None
    stage: str
    by: Literal["rank", "leader"]
    end: str
    kind: Literal["recorded", "cited"]
    source: str
    text: str
    code: int = 1
    ranks: Literal["first", "all"] = "first"
    log: str | None = None
    since: str | None = None
    until: str | None = None

    def fits(self, version: Version) -> bool:
        """Whether this version can fail so."""
        return (self.since is None or version >= Version(self.since)) and (
            self.until is None or version <= Version(self.until)
        )

    def played(self, version: str) -> dict[str, Any]:
        """What the engine of `version` needs to play it."""
        return {
            "stage": self.stage,
            "by": self.by,
            "end": self.end,
            "code": self.code,
            "rank": "all" if self.ranks == "all" else 0,
            "text": self.text,
            "class": self.triage,
            "version": version,
        }


@cache
def failures() -> tuple[Failure, ...]:
    """Every failure script, by name."""
    folder = resources.files(__package__).joinpath("failures")
    return tuple(
        _read(file.name, file.read_text(encoding="utf-8")) for file in sorted(folder.iterdir(), key=lambda f: f.name)
    )


def _read(name: str, text: str) -> Failure:
    data = yaml.safe_load(text)
    for where, wrapped in _WRAPPED.items():
        if where in data:
            data["text"] = wrapped.replace("{error}", data.pop(where).rstrip("\n"))
    origin = data.pop("origin")
    return Failure(name=name.removesuffix(".yaml"), triage=data.pop("class"), **origin, **{"text": "", **data})
