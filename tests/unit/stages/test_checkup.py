"""What a checkup tells beyond itself."""

from typing import Any

import pytest

from dsv4deploy.model.checked import Checkup
from dsv4deploy.model.memory import GIB, Account, Part, Sure, Term, exactly
from dsv4deploy.stages.checkup import changed, failure, memory_as_predicted, unlike


def checkup(**states: str) -> Checkup:
    checks = [
        {"check": name.replace("_", "-"), "state": state, "told": f"{name} told"} for name, state in states.items()
    ]
    settings: dict[str, Any] = {"page_size": 256, "tp_size": 4}
    return Checkup.model_validate({"state": "bad", "checks": checks, "settings": settings, "digest": "3f9c"})


def test_a_failed_answer_is_a_failure_of_the_configuration_and_a_failed_card_is_not() -> None:
    failed = failure(checkup(gpus="bad", smoke="bad"))
    assert failed is not None
    assert (failed["class"], failed["stage"], failed["root"]) == ("wrong-output", "serve", "smoke told")
    assert failure(checkup(gpus="bad", log="bad", metrics="bad", endpoints="bad")) is None
    assert failure(checkup(smoke="unknown", server_info="good")) is None


def test_settings_that_the_engine_changed() -> None:
    assert changed(checkup(smoke="good"), ["--tp-size", "4"], {"page_size": 1, "tp_size": 1}) == (
        "page_size became 256 (default: 1)",
    )


def test_answers_that_have_little_in_common_with_those_before() -> None:
    before = {"short": "Paris is the capital of France", "long": "the word is ORCHARD"}
    assert unlike(before, {"short": "Paris is the capital of all France", "long": "the word is ORCHARD"}) == ()
    assert unlike(before, {"short": "Lorem ipsum dolor sit", "long": "the word is ORCHARD"}) == ("short",)
    assert unlike({}, before) == ()


def account(tokens: int | None) -> Account:
    """40 GiB of weights, and 1 MiB a token."""
    terms = (
        Term(Part.BUDGET, "static budget", exactly(80 * GIB), "B", "", Sure.EXACT),
        Term(Part.WEIGHTS, "weights: all", exactly(40 * GIB), "B", "", Sure.EXACT),
        Term(Part.POOL, "pool", exactly(40 * GIB), "B", "", Sure.EXACT),
        Term(Part.POOL, "cache per token", exactly(1 << 20), "B/token", "", Sure.EXACT),
    )
    return Account(terms, None if tokens is None else exactly(tokens), needs=("gpu_memory_mib",))


@pytest.mark.parametrize(
    ("used_gib", "tokens", "state"),
    [(82, 40 << 10, "good"), (60, 40 << 10, "bad"), (60, 10 << 10, "good"), (60, None, "skipped")],
    ids=["as predicted", "too little", "as little as the tokens asked for take", "not known"],
)
def test_memory_is_held_against_the_account(used_gib: int, tokens: int | None, state: str) -> None:
    cards = [{"index": n, "used_mib": (used_gib + n) * 1024, "total_mib": 97887} for n in range(2)]
    asked = checkup(gpus="good").model_copy(update={"cards": Checkup(state="good", checks=(), cards=cards).cards})
    assert memory_as_predicted(asked, account(tokens)).state == state
