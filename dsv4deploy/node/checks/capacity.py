"""Rehearses the load that the profile promises: its longest prompt, as often at once as it must be served."""

from __future__ import annotations

import threading
from typing import Any

from dsv4deploy.node.checks.target import OK, Answer, Finding, Target, unanswered

_PATH = "/generate"
# Numbers of letters in every vocabulary, the smallest included: an engine may die of a number beyond it. All prompts
# differ from their first or second token on, so that no cache helps.
_FIRST, _TOKENS, _STEP = 100, 150, 17
_SPARE = 16


def check(target: Target) -> Finding:
    """Send the prompts at once, wait for all, and see that the server still answers."""
    prompt, at_once = target.health.get("longest_prompt"), target.health.get("concurrency") or 1
    if not target.health.get("capacity"):
        return Finding("skipped", "not asked for (health.capacity, or --capacity)")
    if not prompt:
        return Finding("unknown", "needs health.longest_prompt")
    answers = _all(target, [request(int(prompt), number) for number in range(int(at_once))])
    return judge(answers, target.ask("/health"), int(prompt))


def judge(answers: list[Answer], after: Answer, prompt: int) -> Finding:
    """Bad if one prompt was refused or lost, or if the server does not answer afterwards."""
    if after.status is None and not after.timed_out:
        return Finding("bad", f"the server did not survive {len(answers)} prompts of {prompt} tokens at once")
    for answer in answers:
        if answer.status is None:
            return unanswered(answer, f"a prompt of {prompt} tokens")
        if answer.status != OK:
            return Finding("bad", f"a prompt of {prompt} tokens was answered with {answer.status}: {answer.body[:200]}")
    if after.status != OK:
        return Finding("bad", f"afterwards /health answered {after.status}")
    slowest = max(answer.seconds for answer in answers)
    return Finding("good", f"{len(answers)} prompts of {prompt} tokens at once were served within {slowest:.0f} s")


def request(tokens: int, number: int) -> dict[str, Any]:
    """A prompt of so many tokens that no other number shares a beginning with; the answer fits beside it."""
    step = _STEP + number // _TOKENS
    ids = [_FIRST + (index * step + number * 101) % _TOKENS for index in range(max(1, tokens - _SPARE))]
    return {"input_ids": ids, "sampling_params": {"temperature": 0, "max_new_tokens": _SPARE // 2, "ignore_eos": True}}


def _all(target: Target, requests: list[dict[str, Any]]) -> list[Answer]:
    found: list[Answer] = []
    threads = [
        threading.Thread(target=lambda one=document: found.append(target.ask(_PATH, one)), daemon=True)
        for document in requests
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found
