"""What the stand-ins of the other oracles tell holds of an SGLang that is installed with all it needs."""

from collections.abc import Iterator
from pathlib import Path

import installed
import pytest
from house import EXAMPLES, argv, bundle_of, looked, rendered
from hypothesis import HealthCheck, given, settings
from profiles import MadeUp, profiles
from real_parser import RealParser, installed_parser, wheel
from test_catalogue_against_real_parsers import differences
from test_rendered_argv import COMMON, FIRST, HAND_WRITTEN, assert_same, values

from dsv4deploy.rim.catalogue_file import extracted

VERSION = "0.5.23"

pytestmark = [pytest.mark.oracle, installed.needed]


@pytest.fixture(scope="module")
def parser() -> Iterator[RealParser]:
    one = installed_parser()
    assert one.version == VERSION
    yield one
    one.close()


def test_the_stand_ins_change_nothing_that_an_installed_engine_says(parser: RealParser) -> None:
    catalogue, _ = extracted(wheel(VERSION))
    assert differences(parser, catalogue) == []


def test_the_first_example_says_what_its_hand_written_command_says(parser: RealParser) -> None:
    ours = parser.parse(argv(rendered(FIRST, f"engine.version={VERSION}")))
    theirs = parser.parse([*COMMON, *HAND_WRITTEN[VERSION]])
    assert ours.accepted, ours.message
    assert ours.values == theirs.values


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_every_example_is_accepted_with_the_values_it_says(parser: RealParser, example: Path) -> None:
    seen = looked(example, f"engine.version={VERSION}")
    answer = parser.parse(argv(bundle_of(seen)))
    assert answer.accepted, answer.message
    assert_same(answer.values, values(seen))


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(made_up=profiles((VERSION,)))
def test_any_profile_is_accepted_with_the_values_it_says(parser: RealParser, made_up: MadeUp) -> None:
    answer = parser.parse(argv(bundle_of(looked(made_up.text))))
    assert answer.accepted, answer.message
    assert_same(answer.values, made_up.meant)
