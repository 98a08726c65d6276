"""Predicts the public boots of `boots.yaml` and writes docs/reference/memory-boots.md: `python -m tests.boots.table`."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import yaml

from dsv4deploy.model.checkpoint import Checkpoint, Geometry
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.memory import GIB, Account, Interval, Measured, Part, total
from dsv4deploy.stages.memory import fit

HERE = Path(__file__).parent
PAGE = HERE.parents[1] / "docs" / "reference" / "memory-boots.md"
HEAD = """\
# Predicted memory against public boots

Written by `python -m tests.boots.table` from [boots.yaml](../../tests/boots/boots.yaml); do not edit.
Each row is one public log of SGLang.
*Given* is taken from that log (GiB on one rank); everything else is predicted.
On a CPU some 0.05 GiB of the free memory go between the two readings of the engine, which is all of the error there.
That DeepSeek-V4 sizes its windows by ratio, and V4.1 by the requests that may run, was seen by running the resolver of 0.5.23.
*Between* is the interval that `dsv4deploy` prints; *in it* says whether the report lies inside.

"""
TAIL = """
## What is not modelled

- Kernels that change the layout of the weights: Marlin on Hopper holds 22 GiB more than the file of DeepSeek-V4-Pro, and nothing in the released code explains it.
- The draft of speculative decoding where its files are not at hand: between 0.5 and 4.6 GiB in the logs.
- DeepSeek-V4.1's Engram tables: they may lie in host memory or on NVMe, so that its weights are a wide interval. Its bounded replay of windows.
- Autotune and JIT workspaces, LoRA, HiSparse, offloading to host memory, redundant experts, the symmetric heap.
- Unified memory (GB10): the engine counts what the system calls available, which moves with the page cache.
- Forks: GLM-5.2's weights are some 4 GiB a rank larger than the shape says in the build that ran.

A measured first start on the node replaces these estimates: free memory, weights, draft and bytes per token come from its log.
"""


@dataclass(frozen=True, slots=True)
class Row:
    """One boot: what was reported and what is predicted for it."""

    what: str
    name: str
    given: str
    reported: float
    predicted: Interval
    source: str

    @property
    def error(self) -> float:
        """Of the likeliest value, in percent of the reported one."""
        return 100 * (self.predicted.likely - self.reported) / self.reported

    @property
    def inside(self) -> bool:
        """Whether the report lies in the interval; figures of a log are rounded to 0.1 % of it."""
        near = 0.001 * self.reported
        return self.predicted.low - near <= self.reported <= self.predicted.high + near


def rows() -> tuple[Row, ...]:
    """All boots, predicted."""
    data = yaml.safe_load((HERE / "boots.yaml").read_text(encoding="utf-8"))
    return tuple(_row(boot, data["models"][boot["model"]], data["cards"][boot["card"]]) for boot in data["boots"])


def middle_error(found: tuple[Row, ...], what: str) -> float:
    """Median of the absolute errors of one kind, in percent."""
    return median(abs(row.error) for row in found if row.what == what)


def page() -> str:
    """The whole page."""
    found = rows()
    return HEAD + "\n".join(_lines(found)) + "\n" + TAIL


def _lines(found: tuple[Row, ...]) -> Iterator[str]:
    for what in dict.fromkeys(row.what for row in found):
        mine = [row for row in found if row.what == what]
        yield f"## {what[0].upper()}{what[1:]}"
        yield ""
        yield f"{len(mine)} boots, median error {middle_error(found, what):.2f} %, worst {max((row.error for row in mine), key=abs):+.2f} %."
        yield ""
        yield "| boot | given | reported | predicted | error | between | in it | source |"
        yield "|---|---|---|---|---|---|---|---|"
        yield from (_line(row) for row in mine)
        yield ""


def _line(row: Row) -> str:
    def shown(number: float) -> str:
        return f"{number:.2f}" if "GiB" in row.what else f"{number:,.0f}"

    predicted = row.predicted
    between = "one number" if predicted.low == predicted.high else f"{shown(predicted.low)} to {shown(predicted.high)}"
    cells = (
        row.name,
        row.given or "nothing",
        shown(row.reported),
        shown(predicted.likely),
        f"{row.error:+.2f} %",
        between,
    )
    return "| " + " | ".join((*cells, "yes" if row.inside else "no", row.source)) + " |"


def _row(boot: Mapping[str, Any], model: Mapping[str, Any], card: Mapping[str, Any]) -> Row:
    given = boot.get("given", {})
    account = _account(boot, model, card, boot["settings"])
    predicted = _read(account, boot["what"])
    if "from" in boot:
        before = _account(boot, model, card, {**boot["settings"], "mem_fraction_static": boot["from"]})
        assert account.tokens is not None
        assert before.tokens is not None
        # The same launch twice: what is unknown of it is the same both times.
        step = account.tokens.likely - before.tokens.likely
        predicted = Interval(step, step, step)
    words = ", ".join(f"{name} {size}" for name, size in given.items()).replace("_", " ")
    return Row(boot["what"], boot["name"], words, boot["reported"], predicted, boot["source"])


def _account(
    boot: Mapping[str, Any], model: Mapping[str, Any], card: Mapping[str, Any], settings: Mapping[str, Any]
) -> Account:
    given = {name: size * GIB for name, size in boot.get("given", {}).items()}
    if (pool := given.pop("pool", None)) is not None:
        given |= {"free_before": pool / settings["mem_fraction_static"], "weights": 0, "draft": 0}
    if boot["what"] == "GiB of weights":
        given["free_before"] = 1000 * GIB
        settings = {"mem_fraction_static": 0.9, **settings}
    facts = Facts.model_validate({**card, "model": model.get("facts", {})})
    checkpoint = Checkpoint(geometry=Geometry.model_validate(model["geometry"])) if "geometry" in model else None
    return fit(boot["version"], settings, facts, checkpoint, measured=Measured(**given))


def _read(account: Account, what: str) -> Interval:
    if what == "GiB of weights":
        return total(term.amount for term in account.terms if term.part is Part.WEIGHTS).scaled(1 / GIB)
    if what == "GiB after the pools":
        taken = [term for term in account.terms if term.name in {"outside the pool", "request table"}]
        return total(term.amount for term in taken).scaled(1 / GIB)
    assert account.tokens is not None
    return account.tokens


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
