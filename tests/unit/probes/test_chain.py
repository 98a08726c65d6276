"""The root of an exception chain is the cause, not what was said last."""

import json
from pathlib import Path

import pytest

from dsv4deploy.probes.chain import chain, root
from dsv4deploy.source.probe_document import recorded

SAMPLE = json.loads((Path(__file__).parents[2] / "samples/h200-probe.json").read_text())["cases"]
# What the recording calls the cases that ship.
NAMES = {
    "compile-default": "torch.compile default, warmed",
    "compile-reduce-overhead": "torch.compile reduce-overhead, warmed",
    "compile-max-autotune-no-cudagraphs": "torch.compile max-autotune-no-cudagraphs, warmed",
    "compile-max-autotune": "torch.compile max-autotune, warmed",
    "compile-other-batch": "torch.compile max-autotune-no-cudagraphs, warmed at another batch size",
    "autotune-first": "@triton.autotune, first call in capture",
    "autotune-warmed": "@triton.autotune, warmed",
    "autotune-other-key": "@triton.autotune, warmed at another key",
    "capture-isolation": "capture: current_stream.wait_stream(side) with uncaptured work on side",
    "capture-unjoined": "capture: fork to side stream, never joined",
    "capture-item": "capture: .item()",
    "capture-other-thread": "other thread: cudaMalloc during global capture",
}


@pytest.mark.parametrize("name", NAMES)
def test_the_table_holds_the_root_of_what_was_recorded(name: str) -> None:
    case = SAMPLE[NAMES[name]]
    links = [{"type": one["type"], "cuda": one["cuda"], "number": one["code"]} for one in case.get("chain", [])]
    cause = root(links)
    found = "ok" if cause is None else (cause["cuda"] or [cause["type"].rpartition(".")[2]])[0]
    assert recorded()[0].outcomes[name] == found


def test_every_recorded_probe_is_in_the_table() -> None:
    assert set(recorded()[0].outcomes) == set(NAMES)


class CudaError(RuntimeError):
    error_code = 905


def test_the_cause_wins_over_the_follow_up() -> None:
    last = RuntimeError("previous error\nSearch for `cudaErrorStreamCaptureInvalidated'")
    last.__context__ = CudaError("CUDA error: x\nSearch for `cudaErrorStreamCaptureIsolation' in the manual")
    links = chain(last)
    assert [one["type"] for one in links] == ["builtins.RuntimeError", f"{__name__}.CudaError"]
    cause = root(links)
    assert cause
    assert (cause["cuda"], cause["number"]) == (["cudaErrorStreamCaptureIsolation"], 905)


def test_a_chain_that_bites_its_tail_ends() -> None:
    one, other = ValueError("one"), ValueError("other")
    one.__context__, other.__context__ = other, one
    assert [link["message"] for link in chain(one)] == ["one", "other"]


def test_no_exception_has_no_root() -> None:
    assert chain(None) == []
    assert root([]) is None
