"""Mistakes that people make in a profile are all blocked, each in its place, with a way out."""

from dataclasses import dataclass

import pytest
from house import EXAMPLES, looked
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused

STACK = """\
name: flash
engine:
  version: 0.5.21
  venv: /opt/sglang/venv
model:
  path: /models/DeepSeek-V4-Flash-NVFP4
  architecture: DeepseekV4ForCausalLM
  tool_call_parser: deepseekv4
  reasoning_parser: deepseek-v4
  facts: {model_type: deepseek_v4, quant_algo: MIXED_PRECISION, moe_quant_algo: NVFP4}
hardware: {arch: sm_120, count: 8}
parallel: {tp: 8}
kernels: {moe_runner: flashinfer_cutlass}
"""


@dataclass(frozen=True, slots=True)
class Mistake:
    """Lines added to the profile, and what must be said of them."""

    lines: str
    rule: str
    at: str
    way_out: str


TEN = {
    "a misspelt engine flag": Mistake("args: {schedule-polcy: fcfs}", "unknown-flag", "fcfs", "--schedule-policy"),
    "a bad choice": Mistake("args: {schedule-policy: fastest}", "invalid-choice", "fastest", "fcfs"),
    "a value of the wrong type": Mistake("args: {watchdog-timeout: soon}", "wrong-type", "soon", "number"),
    "a fraction out of range": Mistake("memory: {fraction_static: 1.5}", "out-of-range", "1.5", "above 0, below 1"),
    "compile with graphs": Mistake(
        "compile: {torch_compile: true}", "torch-compile-in-capture-dsv4", "true", "Drop --enable-torch-compile"
    ),
    "tp larger than the box": Mistake("args: {tp-size: 16}", "more-ranks-than-gpus", "16", "tp"),
    "a flag of another engine": Mistake("args: {gpu-memory-utilization: 0.9}", "foreign-flag", "0.9", "--mem-fraction-static"),
    "an MoE backend of sm_100 only": Mistake(
        "args: {moe-runner-backend: flashinfer_trtllm}", "moe-trtllm-on-sm120", "flashinfer_trtllm", "flashinfer_cutlass"
    ),
    "a misspelt NCCL variable": Mistake("nccl: {env: {NCCL_P2P_LEVL: SYS}}", "unknown-variable", "SYS", "NCCL_P2P_LEVEL"),
    "an unknown key of our own": Mistake("server: {prot: 30000}", "unknown-key", "prot", "port"),
}
# Written in the profile itself, so that a second spelling would be another mistake.
REPLACED = {"tp larger than the box": "parallel: {tp: 8}", "an MoE backend of sm_100 only": "kernels: {moe_runner: flashinfer_cutlass}"}


def told(profile: str) -> tuple[Diagnostic, ...]:
    try:
        return looked(profile).report.diagnostics
    except Refused as refused:
        return refused.diagnostics


def test_the_profile_without_a_mistake_is_fine() -> None:
    assert told(STACK) == ()


@pytest.mark.parametrize("name", TEN)
def test_each_of_the_ten_is_blocked_in_its_place_with_a_way_out(name: str) -> None:
    mistake = TEN[name]
    profile = STACK.replace(REPLACED.get(name, "\0"), "").rstrip() + f"\n{mistake.lines}\n"
    [error] = [diagnostic for diagnostic in told(profile) if diagnostic.level is Level.ERROR]
    assert error.rule == mistake.rule
    assert error.place
    line = profile.splitlines()[error.place.line - 1]
    assert mistake.at in line[error.place.column - 1 : error.place.end_column - 1]
    assert mistake.way_out in " ".join([error.message, error.label, error.remedy])
