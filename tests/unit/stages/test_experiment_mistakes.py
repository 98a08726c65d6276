"""Whatever does not hang together in an experiment file is told where it stands, all of it at once, with a remedy."""

import textwrap

import pytest

from dsv4deploy.model.experiment import Experiment
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import validate
from dsv4deploy.stages.experiment_mistakes import Known, mistakes
from dsv4deploy.stages.resolve import resolve

KNOWN = Known({"oom-load", "stream-capture"}, {"fast"})
FINE = """\
name: x
question: which?
profile: p.yaml
hypotheses: {it: {says: it does}}
reach: warmup
arms:
  off: {}
  on: {control: off, changes: {compile.torch_compile: true}, variants: [fast]}
  far: {control: off, changes: {memory.fraction_static: 0.5}}
decide:
  - {when: {off: reached, on: stream-capture}, verdict: v, supports: it, matters: [compile.torch_compile]}
  - {when: {off: reached, on: failed}, verdict: w}
"""


def found(text: str) -> list[tuple[str, str, str]]:
    """Line and column, message, remedy of each mistake."""
    merged = resolve([load(textwrap.dedent(text).encode(), "x.yaml")])
    told = mistakes(validate(merged, Experiment), merged, KNOWN)
    return [(f"{d.place.line}:{d.place.column}" if d.place else "", d.message, d.remedy) for d in told]


def test_what_hangs_together_has_none() -> None:
    assert found(FINE) == []


@pytest.mark.parametrize(
    ("right", "wrong", "place", "says", "remedy"),
    [
        ("on: {control: off", "on: {control: of", "8:17", "there is no arm of; did you mean off?", "one of off, far"),
        ("on: {control: off", "on: {control: on", "8:17", "there is no arm on", "one of off, far"),
        ("off: {}", "off: {control: on}", "7:18", "the controls of off, on go in a circle", "leave `control` out"),
        ("[fast]", "[fasd]", "8:73", "there is no variant fasd; did you mean fast?", "one of fast"),
        (
            "{off: reached, on: failed}",
            "{oft: reached, on: failed}",
            "12:13",
            "there is no arm oft",
            "one of off, on, far",
        ),
        ("on: failed", "on: fialed", "12:31", "there is no outcome fialed; did you mean failed?", "class of a failure"),
        ("on: failed", "on: ready", "12:31", "stopped once it has reached warmup, and so is never ready", "`reached`"),
        ("supports: it", "supports: that", "11:70", "there is no hypothesis that", "one of it"),
        ("matters: [compile.torch_compile]", "matters: [parallel.tp]", "11:84", "no arm changes parallel.tp", "one of"),
        ("on: stream-capture}", "on: failed}", "12:5", "row 2 of `decide` never counts", "before row 1"),
        ("reach: warmup", "deadline_s: 5\npolls: {count: 1, every_s: 5}", "6:8", "say the same", "give one"),
        ("reach: warmup", "repeats: 1", "11:18", "arm off has no stage to reach", "say `ready`"),
    ],
)
def test_each_mistake_is_told_in_its_place(right: str, wrong: str, place: str, says: str, remedy: str) -> None:
    told = found(FINE.replace(right, wrong, 1))
    assert any(at == place and says in message and remedy in do for at, message, do in told), told


def test_all_are_told_at_once() -> None:
    assert len(found(FINE.replace("control: off", "control: nobody").replace("supports: it", "supports: that"))) == 3


def test_a_row_that_a_more_special_one_precedes_counts() -> None:
    assert found(FINE.replace("on: failed}, verdict: w", "on: oom-load}, verdict: w")) == []
