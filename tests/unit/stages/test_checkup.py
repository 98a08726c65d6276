"""What a checkup tells beyond itself."""

from typing import Any

from dsv4deploy.model.checked import Checkup
from dsv4deploy.stages.checkup import changed, failure, unlike


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
