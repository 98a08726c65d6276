"""Whether completions are what a working model says: short, long, and two at once.

Short prompts never enter the sparse indexer, which is what patched kernels replace; the long one is beyond 512 tokens.
"""

from __future__ import annotations

import math
import threading
import unicodedata
import zlib
from collections import Counter
from typing import Any

from dsv4deploy.node.checks.target import OK, Answer, Finding, Target, unanswered

_PATH = "/v1/completions"
SHORT = "The capital of France is"
WORD = "ORCHARD-SEVEN"
# About 900 tokens: numbered sentences, so that nothing repeats, with one word to remember at the beginning.
LONG = (
    f"The code word of this report is {WORD}. "
    + " ".join(
        f"Measurement {number} was taken in room {number * 7 % 41} at {number * 13 % 24} hours and gave {number * number % 97} units."
        for number in range(1, 41)
    )
    + " The code word that was given at the beginning of this report is"
)
_SHORT_TEXT = 32
_LEAST_BITS, _LEAST_RATIO = 2.0, 0.25
_MOST_SCRIPTS, _MOST_BROKEN = 3, 0.01
_MOST_RUN = 8
_SCRIPTS = {"latin": "LATIN", "han": "CJK", "cyrillic": "CYRILLIC"}
# Letters of these names stand in texts of every language.
_SHARED = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "FULLWIDTH")


def check(target: Target) -> Finding:
    """Ask three times, and judge all answers."""
    wanted = target.health.get("smoke") or {}
    short = wanted.get("prompt") or SHORT
    answers = [("short", _ask(target, short, wanted)), ("long", _ask(target, LONG, wanted))]
    if not target.busy:
        answers += [("of two at once", answer) for answer in _both(target, (short, LONG), wanted)]
    target.texts = {kind: completion(answer) or "" for kind, answer in answers[:2] if answer.status == OK}
    return judge(answers, wanted)


def judge(answers: list[tuple[str, Answer]], wanted: dict[str, Any]) -> Finding:
    """Bad if an answer is missing, garbage, or without what it must hold; the texts stand in the details."""
    said = []
    for kind, answer in answers:
        if answer.status is None:
            return unanswered(answer, f"the {kind} request to {_PATH}")
        text = completion(answer)
        if answer.status != OK or text is None:
            return Finding("bad", f"the {kind} request: {_PATH} answered {answer.status}: {answer.body[:200]}")
        wrong = garbage(text) or _misses(kind, text, wanted)
        if wrong:
            return Finding("bad", f"the {kind} answer {wrong}: {text.strip()[:120]!r}", (text,))
        said.append(f"{kind}: {text.strip()[:120]!r} in {answer.seconds:.1f} s")
    return Finding("good", f"{len(said)} answers read as they should", tuple(said))


def completion(answer: Answer) -> str | None:
    """The text of a completion; None if it is none."""
    try:
        text = answer.document()["choices"][0]["text"]
    except (LookupError, TypeError):
        return None
    return text if isinstance(text, str) else None


def garbage(text: str) -> str | None:
    """What is wrong with a text that no working model writes; None if nothing is."""
    body = text.strip()
    tests = {
        "is empty": not body,
        "is full of broken characters": _broken(body),
        "repeats one word": _longest_run(body.split()) >= _MOST_RUN,
        "has hardly any variety": len(body) >= _SHORT_TEXT and entropy(body) < _LEAST_BITS,
        "repeats itself": len(body) >= _SHORT_TEXT and _compressed(body) < _LEAST_RATIO,
        "mixes scripts as no text does": len(body) >= _SHORT_TEXT and len(scripts(body)) > _MOST_SCRIPTS,
    }
    return next((words for words, found in tests.items() if found), None)


def entropy(text: str) -> float:
    """Bits a character."""
    counts = Counter(text)
    return -sum(n / len(text) * math.log2(n / len(text)) for n in counts.values())


def scripts(text: str) -> Counter[str]:
    """How many letters of each script the text holds."""
    names = (unicodedata.name(one, "").split(" ")[0] for one in text if one.isalpha())
    return Counter("CJK" if name in _SHARED else name for name in names if name)


def _broken(text: str) -> bool:
    controls = any(unicodedata.category(one) == "Cc" and one not in "\n\r\t" for one in text)
    return controls or text.count("\ufffd") > max(1, _MOST_BROKEN * len(text))


def _compressed(text: str) -> float:
    data = text.encode()
    return len(zlib.compress(data)) / len(data)


def _misses(kind: str, text: str, wanted: dict[str, Any]) -> str | None:
    missing = [one for one in wanted.get("contains") or () if one.lower() not in text.lower()]
    if kind == "short" and missing:
        return f"does not hold {missing[0]!r}"
    if kind == "long" and wanted.get("recall") and WORD.lower() not in text.lower():
        return f"does not hold the code word {WORD}"
    script = _SCRIPTS.get(wanted.get("script") or "any")
    letters = scripts(text)
    if script and letters and letters[script] * 2 < sum(letters.values()):
        return f"is not written in {wanted['script']} letters"
    return None


def _ask(target: Target, prompt: str, wanted: dict[str, Any]) -> Answer:
    request = {
        "model": target.model,
        "prompt": prompt,
        "temperature": 0,
        "max_tokens": int(wanted.get("max_tokens") or 48),
    }
    return target.ask(_PATH, request)


def _both(target: Target, prompts: tuple[str, str], wanted: dict[str, Any]) -> list[Answer]:
    found: list[Answer] = []
    threads = [
        threading.Thread(target=lambda one=prompt: found.append(_ask(target, one, wanted)), daemon=True)
        for prompt in prompts
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found


def _longest_run(words: list[str]) -> int:
    longest = run = 0
    before = None
    for word in words:
        run = run + 1 if word == before else 1
        longest, before = max(longest, run), word
    return longest
