"""What one launch answers about itself."""

import pytest

from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Launch, Variable
from dsv4deploy.stages.situation import Situation


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({}, None),
        ({"SGLANG_ENABLE_JIT_DEEPGEMM": "1"}, "1"),
        ({"SGL_ENABLE_JIT_DEEPGEMM": "0"}, "0"),
        ({"SGLANG_ENABLE_JIT_DEEPGEMM": "1", "SGL_ENABLE_JIT_DEEPGEMM": "0"}, "0"),
    ],
)
def test_a_variable_of_the_old_prefix_stands_for_that_of_the_new(env: dict[str, str], expected: str | None) -> None:
    launch = Launch("0.5.12", {}, {name: Variable(name, value) for name, value in env.items()})
    assert Situation(launch, Facts()).ask("env:SGLANG_ENABLE_JIT_DEEPGEMM") == expected
