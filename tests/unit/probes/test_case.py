"""Every probe is a file that is found, says what it asks, and names rules that exist."""

import pytest

from dsv4deploy.probes.case import Case, all_cases, chosen
from dsv4deploy.source.probe_document import recorded
from dsv4deploy.source.rulebook import catalogue


@pytest.mark.parametrize("case", all_cases(), ids=lambda case: case.name)
def test_a_case_names_known_rules_and_its_sentence(case: Case) -> None:
    assert set(case.rules) <= {rule.id for rule in catalogue()}
    assert case.sentence
    assert case.limit_s > 0


def test_names_are_unique_and_the_table_knows_no_others() -> None:
    names = [case.name for case in all_cases()]
    assert len(set(names)) == len(names)
    assert set(recorded()[0].outcomes) <= set(names)


def test_multicast_is_off_in_every_collective() -> None:
    for case in all_cases():
        if case.world(4) > 1:
            assert case.environment["NCCL_NVLS_ENABLE"] == "0"


def test_a_whole_name_is_one_case_and_the_beginning_of_a_name_is_several() -> None:
    assert [case.name for case in chosen(["all-reduce"])] == ["all-reduce"]
    assert len(chosen(["compile"])) == 5
    assert len(chosen(["compile", "compile-default"])) == 5
    with pytest.raises(KeyError, match="nothing"):
        chosen(["nothing"])
