"""What a working model says passes; what broken kernels and caches make of it does not."""

import json
from typing import Any

import pytest

from dsv4deploy.node.checks.smoke import LONG, WORD, garbage, judge
from dsv4deploy.node.checks.target import Answer

ENGLISH = " Paris. The city lies on the river Seine, has about two million people, and is known for its museums."


def answer(text: str) -> Answer:
    return Answer(200, json.dumps({"choices": [{"text": text}]}), 0.5)


def told(text: str = ENGLISH, kind: str = "short", **wanted: Any) -> tuple[str, str]:
    found = judge([(kind, answer(text))], wanted)
    return found.state, found.told


@pytest.mark.parametrize(
    "text",
    [
        ENGLISH,
        " 巴黎。它是法国的首都,位于塞纳河畔,以埃菲尔铁塔、卢浮宫和圣母院闻名于世。",
        " Париж, город на реке Сене, известный музеями и архитектурой.",
        " 1. Paris\n2. Lyon\n3. Marseille\n4. Toulouse\n5. Nice\n",
        " `def f(x):\n    return x * x\n`, which is a·b for x ≈ 3.14159",
        " Paris",
    ],
)
def test_what_people_write_is_no_garbage(text: str) -> None:
    assert garbage(text) is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        (" \n ", "is empty"),
        ("!" * 64, "variety"),
        ("the the the the the the the the the the", "repeats one word"),
        (" and so on, and so forth" * 12, "repeats itself"),
        ("Par\ufffd\ufffd is \ufffd the \ufffd\ufffd", "broken characters"),
        ("Paris\x00\x01 is the capital", "broken characters"),
        ("the город 東京 Ελλάδα ישראל مدينة เมือง नगर ქალაქი words together", "mixes scripts"),
    ],
)
def test_garbage_is_named(text: str, words: str) -> None:
    assert words in str(garbage(text))


def test_expected_texts_scripts_and_the_word_to_remember() -> None:
    assert told(contains=["paris"]) == ("good", "1 answers read as they should")
    assert told(contains=["Berlin"])[0] == "bad"
    assert told(script="han") == ("bad", f"the short answer is not written in han letters: {ENGLISH.strip()!r}")
    assert told(script="latin")[0] == "good"
    assert told(kind="long", recall=True)[0] == "bad"
    assert told(text=f" {WORD}.", kind="long", recall=True)[0] == "good"


def test_an_answer_that_is_none() -> None:
    assert judge([("short", Answer(500, "boom", 1.0))], {}).state == "bad"
    assert judge([("short", Answer(200, "no json", 1.0))], {}).state == "bad"
    assert judge([("short", Answer(None, "refused", 0.0))], {}).state == "bad"
    assert judge([("short", Answer(None, "", 300.0, timed_out=True))], {}).state == "unknown"


def test_the_long_prompt_is_beyond_what_short_prompts_reach_and_repeats_nothing() -> None:
    assert len(LONG.split()) > 512
    sentences = LONG.split(". ")
    assert len(sentences) == len(set(sentences))
