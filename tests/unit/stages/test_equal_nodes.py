"""Arms run side by side only on nodes that are equal in what may decide a start; the reason is always told."""

from dsv4deploy.model.facts import Facts
from dsv4deploy.stages.equal_nodes import chosen

CARD = Facts(arch="sm_120", gpu_name="RTX PRO 6000", driver="580.1", torch="2.11", nofile=1024)


def test_equal_nodes_are_all_taken_and_what_nobody_knows_is_said() -> None:
    found = chosen({"a": CARD, "b": CARD.model_copy(update={"nofile": 4096})}, {})
    assert found.nodes == ("a", "b")
    assert found.told[0].startswith("a, b are equal in what matters (nobody said gpu_count, ")


def test_a_node_with_another_driver_takes_no_part() -> None:
    found = chosen({"a": CARD, "b": CARD.model_copy(update={"driver": "590.2", "torch": "2.12"}), "c": CARD}, {})
    assert found.nodes == ("a", "c")
    assert found.told[0] == "b takes no part: beside a it has another driver, torch"


def test_what_only_one_of_them_knows_makes_them_unequal() -> None:
    found = chosen({"a": CARD, "b": CARD.model_copy(update={"driver": None})}, {})
    assert found.nodes == ("a",)
    assert found.told[-1] == "arms run one after the other on a"


def test_a_node_that_is_not_fit_is_left_out_with_the_reason() -> None:
    found = chosen({"a": CARD, "b": CARD}, {"a": "card 2 is used by pid 4711"})
    assert (found.nodes, found.told[0]) == (("b",), "a takes no part: card 2 is used by pid 4711")


def test_no_fit_node_is_no_node() -> None:
    assert chosen({"a": CARD}, {"a": "no answer"}).nodes == ()


def test_one_node_needs_no_words() -> None:
    assert chosen({"a": CARD}, {}).told == ()
