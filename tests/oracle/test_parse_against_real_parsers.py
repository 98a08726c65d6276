"""A command line means to us what it means to the real parser of that release."""

import json

import pytest
from argvs import command_lines, jsonable
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from real_parser import real_parser

from dsv4deploy.flags import history
from dsv4deploy.source.argv import parse

IN_CI = ("0.5.6", "0.5.13.post1", "0.5.16", "0.5.20", "0.5.23")
VERSIONS = [
    pytest.param(version, marks=pytest.mark.oracle if version in IN_CI else pytest.mark.soak)
    for version in history().versions
]


def same(version: str, words: list[str]) -> None:
    catalogue = history().at(version)
    real = real_parser(version).parse(words)
    ours = parse(words, catalogue)
    assert real.accepted == (not ours.errors), (words, real.message, ours.errors)
    if real.accepted:
        told = {dest: jsonable(value) for dest, value in {**catalogue.defaults, **ours.values}.items()}
        # Text both times, because a NaN is no NaN's equal.
        assert json.dumps(told, sort_keys=True) == json.dumps(real.values, sort_keys=True), words


@pytest.mark.parametrize("version", VERSIONS)
def test_any_command_line_is_read_as_the_real_parser_reads_it(version: str) -> None:
    @settings(max_examples=250, deadline=None, suppress_health_check=list(HealthCheck))
    @given(st.data())
    def check(data: st.DataObject) -> None:
        same(version, data.draw(command_lines(history().at(version))))

    check()


@pytest.mark.oracle
@pytest.mark.parametrize("version", IN_CI)
@pytest.mark.parametrize(
    "line",
    [
        "--model m --tp 4 --dp 2 --ep 8",
        "--model-path m --tp 4 --tp-size 8 --tensor-parallel-size 2",
        "--model-path m --cuda-graph-max-bs 32",
        "--model-path m --cuda-graph-max-bs-decode 32",
        "--model-path m --cuda-graph-bs 1 2 4",
        "--model-path m --trust-remote-code true",
        "--model-path m --context-length 128k --max-total-tokens 1.5M",
        "--model-path m --mem-fraction-static 1.5",
        "--model-path m --tool-call-parser deepseekv4 --attention-backend dsv4",
        '--model-path m --cuda-graph-config {"decode":{"max_bs":32}}',
        '--model-path m --cuda-graph-config {"decode":{"backend":"tc_piecewise"}}',
        "--model-path m --speculative-algorithm EAGLE --speculative-num-steps 3",
        "--model-path m --enable-dp-attention --disable-cuda-graph",
        "--model-path m -tp 4",
        "--model-path m --random-seed -1 --stream-interval -5",
        "--model-path m -- --tp 4",
        "--model-path m --",
        "m --tp 4",
        "-h",
        "--help",
        '--model-path m --lora-paths a=b {"lora_name":"n","lora_path":"p"}',
    ],
)
def test_a_well_known_command_line_is_read_as_the_real_parser_reads_it(version: str, line: str) -> None:
    same(version, line.split())
