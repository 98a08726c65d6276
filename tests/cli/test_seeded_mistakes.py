"""Mistakes that people make in a profile are all blocked, each in its place, with a way out."""

import json
import re
from dataclasses import dataclass
from pathlib import Path

import pytest
from house import EXAMPLES, looked
from hypothesis import given, seed, settings
from hypothesis import strategies as st

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.profile.engine import IMAGE
from dsv4deploy.model.shapes import SHAPES

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
    "a flag of another engine": Mistake(
        "args: {gpu-memory-utilization: 0.9}", "foreign-flag", "0.9", "--mem-fraction-static"
    ),
    "an MoE backend of sm_100 only": Mistake(
        "args: {moe-runner-backend: flashinfer_trtllm}",
        "moe-trtllm-on-sm120",
        "flashinfer_trtllm",
        "flashinfer_cutlass",
    ),
    "a misspelt NCCL variable": Mistake(
        "nccl: {env: {NCCL_P2P_LEVL: SYS}}", "unknown-variable", "SYS", "NCCL_P2P_LEVEL"
    ),
    "an unknown key of our own": Mistake("server: {prot: 30000}", "unknown-key", "prot", "port"),
}
# Written in the profile itself, so that a second spelling would be another mistake.
REPLACED = {
    "tp larger than the box": "parallel: {tp: 8}",
    "an MoE backend of sm_100 only": "kernels: {moe_runner: flashinfer_cutlass}",
}


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
    assert mistake.way_out in f"{error.message} {error.label} {error.remedy}"


@pytest.mark.parametrize(
    ("line", "at", "way_out"),
    [
        ("tp: 8", "tp", "did you mean parallel.tp?"),
        ("mem_fraction_static: 0.6", "mem_fraction_static", "did you mean memory.fraction_static?"),
        ("cuda_graph: {max_bs: 32}", "max_bs", "did you mean cuda_graph.decode.max_bs or cuda_graph.prefill.max_bs?"),
        ("server: {NCCL_DEBUG: INFO}", "NCCL_DEBUG", "did you mean nccl.debug?"),
        ("name: Flash Prod", "Flash Prod", "flash-tp4"),
        ("model: /models/x", "/models/x", "write a mapping of architecture, "),
        ("model: {path: ~/models/x}", "~/models/x", "the whole path"),
        ("hardware: {arch: sm120}", "sm120", "sm_120"),
        ("hardware: {devices: [0, 1, 1]}", "[0, 1, 1]", "card 1 is listed twice"),
        ("hardware: {count: 8, devices: [8]}", "{count: 8", "there is no card 8 among 8"),
        ("server: {host: 'http://0.0.0.0:30000'}", "http", "host: 0.0.0.0, and port: 30000"),
        ("engine: {version: 0.5.21, container: {image: lmsysorg/sglang:v0.5.21}}", "lmsys", "docker inspect --format"),
    ],
)
def test_what_has_not_the_right_shape_is_told_with_what_to_write(line: str, at: str, way_out: str) -> None:
    kept = re.sub(rf"(?m)^{line.partition(':')[0]}:.*\n(  .*\n)*", "", STACK)
    profile = f"{kept}{line}\n"
    [error, *_] = [one for one in told(profile) if at in _written(one, profile.splitlines())]
    assert way_out in f"{error.message} {error.remedy}"


def _written(diagnostic: Diagnostic, lines: list[str]) -> str:
    place = diagnostic.place
    return lines[place.line - 1][place.column - 1 : place.end_column - 1] if place else ""


def test_every_shape_of_a_profile_has_words() -> None:
    patterns = set(re.findall(r'"pattern": ("(?:[^"\\\\]|\\\\.)*")', json.dumps(Profile.model_json_schema())))
    assert {json.loads(pattern) for pattern in patterns} - set(SHAPES) == {IMAGE}


def typo(word: str, draw: st.DrawFn) -> str:
    """`word` with two neighbours swapped, a letter doubled or one left out."""
    at = draw(st.integers(1, len(word) - 2).filter(lambda at: word[at] != word[at + 1]))
    swapped = word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return draw(st.sampled_from([swapped, word[:at] + word[at] + word[at:], word[:at] + word[at + 1 :]]))


@st.composite
def mistakes(draw: st.DrawFn) -> str:
    """One `--set` that spoils any of the examples."""
    name = draw(
        st.sampled_from(["schedule-policy", "watchdog-timeout", "stream-interval", "random-seed", "dist-timeout"])
    )
    variable = draw(st.sampled_from(["NCCL_P2P_LEVEL", "NCCL_IB_DISABLE", "NCCL_MIN_NCHANNELS", "NCCL_SOCKET_IFNAME"]))
    key = draw(
        st.sampled_from(["server.metrics", "memory.page_size", "parallel.nodes", "kernels.attention", "service.user"])
    )
    section, _, leaf = key.partition(".")
    return draw(
        st.sampled_from(
            [
                f"args.{typo(name, draw)}=1",
                f"{section}.{typo(leaf, draw)}=1",
                f"nccl.env.{typo(variable, draw)}=1",
                f"parallel.tp={draw(st.sampled_from(['four', '0', '-1', '4.5', 'true', '[4]', '64']))}",
                f"memory.fraction_static={draw(st.sampled_from(['1.5', '0', 'much', '90']))}",
                f"kernels.moe_runner={typo('flashinfer_cutlass', draw)}",
                f"kernels.moe_a2a={draw(st.sampled_from(['deep_ep', 'nvlink']))}",
                f"args.{draw(st.sampled_from(['gpu-memory-utilization', 'max-num-seqs', 'max-model-len', 'enforce-eager']))}=1",
                f"args.{draw(st.sampled_from(['tp-size', 'model-path', 'mem-fraction-static']))}=1",
                f"engine.venv={draw(st.sampled_from(['venv', './venv', '/opt/../venv']))}",
                f"engine.version={draw(st.sampled_from(['0.4.9', '1.0.0', 'latest', '0.5']))}",
                "env.NCCL_DEBUG=[1]",
                f"server.port={draw(st.sampled_from(['0', '70000', 'http', '80.5']))}",
                "hardware.arch=blackwell",
            ]
        )
    )


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_an_example_has_no_diagnostic(example: Path) -> None:
    assert looked(example).report.diagnostics == ()


@seed(20261129)
@settings(max_examples=100, deadline=None, database=None)
@given(example=st.sampled_from(EXAMPLES), mistake=mistakes())
def test_a_hundred_of_a_hundred_spoilt_examples_are_blocked_where_they_were_spoilt(example: Path, mistake: str) -> None:
    try:
        found = looked(example, mistake).report.diagnostics
    except Refused as refused:
        found = refused.diagnostics
    errors = [diagnostic for diagnostic in found if diagnostic.level is Level.ERROR]
    assert errors, mistake
    assert any(place_of(error, mistake) for error in errors), [error.message for error in errors]
    assert all(error.remedy for error in errors)


def place_of(error: Diagnostic, mistake: str) -> bool:
    """Whether the diagnostic points at what `--set` wrote."""
    places = [error.place, *(related.place for related in error.related)]
    return any(place and place.file in {mistake, f"--set {mistake}"} for place in places)


MANY = """\
name: Flash
engine: {version: 0.5.21, venv: venv}
model: {path: /m, trust_remote_code: "yes", tool_call_parser: deepseekv5}
hardwear: {arch: sm_120}
memory: {fraction_static: 1.5, kv_cache_dtype: fp9}
nccl: {p2p_level: SYSS, env: {NCCL_P2P_LEVL: SYS}}
args: {gpu-memory-utilization: 0.9}
waivers: [{rule: nope}]
"""


def test_mistakes_of_shape_hide_none_in_flags_and_variables() -> None:
    with pytest.raises(Refused) as caught:
        looked(MANY)
    told = [(one.place.line if one.place else 0, one.rule) for one in caught.value.diagnostics]
    assert told == [
        (1, "invalid-value"),
        (2, "invalid-value"),
        (3, "wrong-type"),
        (3, "invalid-choice"),
        (4, "unknown-key"),
        (5, "out-of-range"),
        (5, "invalid-choice"),
        (6, "invalid-value"),
        (6, "unknown-variable"),
        (7, "foreign-flag"),
        (8, "missing-key"),
    ]


def test_a_value_of_a_wrong_type_is_told_once_and_an_unknown_version_too() -> None:
    with pytest.raises(Refused) as caught:
        looked("name: x\nengine: {version: 0.4.1, venv: /v}\nmodel: {path: /m}\nkernels: {moe_runner: 5}\n")
    assert [one.rule for one in caught.value.diagnostics] == ["unknown-version", "wrong-type"]
