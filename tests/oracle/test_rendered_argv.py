"""What is rendered is what SGLang's own parser of that version reads back."""

from pathlib import Path
from typing import Any

import pytest
from house import EXAMPLES, argv, bundle_of, looked, rendered
from hypothesis import HealthCheck, given, settings
from profiles import MadeUp, profiles
from real_parser import real_parser

from dsv4deploy.flow import Looked

pytestmark = pytest.mark.oracle

FIRST = Path("examples/dsv4-flash-nvfp4-tp4/profile.yaml")
# What a person types for the first example, version by version.
HAND_WRITTEN = {
    "0.5.13.post1": ["--tp", "4", "--cuda-graph-max-bs", "32"],
    "0.5.14": ["--tp", "4", "--cuda-graph-max-bs-decode", "32"],
    "0.5.20": ["--tp", "4", "--cuda-graph-max-bs-decode", "32"],
    "0.5.23": ["--tp", "4", "--cuda-graph-max-bs-decode", "32"],
}
COMMON = [
    *["--model-path", "/home/serve/models/DeepSeek-V4-Flash-NVFP4", "--trust-remote-code"],
    *["--moe-runner-backend", "triton", "--mem-fraction-static", "0.60", "--host", "127.0.0.1", "--port", "30000"],
]


def values(seen: Looked) -> dict[str, Any]:
    """What argv says; a key comes to the engine in another way."""
    return {dest: setting.value for dest, setting in seen.launch.settings.items() if setting.words}


@pytest.mark.parametrize("version", HAND_WRITTEN)
def test_the_first_example_says_what_its_hand_written_command_says(version: str) -> None:
    parser = real_parser(version)
    ours = parser.parse(argv(rendered(FIRST, f"engine.version={version}")))
    theirs = parser.parse([*COMMON, *HAND_WRITTEN[version]])
    assert ours.accepted, ours.message
    assert ours.values == theirs.values


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_example_is_accepted_with_the_values_it_says(example: Path) -> None:
    seen = looked(example)
    answer = real_parser(seen.launch.version or "").parse(argv(rendered(example)))
    assert answer.accepted, answer.message
    assert_same(answer.values, values(seen))


def assert_same(theirs: dict[str, Any], ours: dict[str, Any]) -> None:
    for dest, value in ours.items():
        wanted = list(value) if isinstance(value, tuple) else value
        assert theirs[dest] == wanted, dest


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(profiles())
def test_any_profile_is_accepted_with_the_values_it_says(made_up: MadeUp) -> None:
    answer = real_parser(made_up.version).parse(argv(bundle_of(looked(made_up.text))))
    assert answer.accepted, answer.message
    assert_same(answer.values, made_up.meant)
