"""Whether the log of this start holds the lines that it should, and none that it should not."""

from __future__ import annotations

import re

from dsv4deploy.node.checks.target import Finding, Target


def check(target: Target) -> Finding:
    """Judge the log; nothing is asked."""
    wanted = target.health.get("log") or {}
    if target.request.get("lines") is None:
        return Finding("skipped", "there is no log to read from here")
    return judge(target.request["lines"], list(wanted.get("expect") or ()), list(wanted.get("forbid") or ()))


def judge(lines: list[str], expect: list[str], forbid: list[str]) -> Finding:
    """Bad if an expected line is missing or a forbidden one is there."""
    if not expect and not forbid:
        return Finding("skipped", "the profile names no lines (health.log)")
    wrong = [f"no line matches {one!r}" for one in expect if _first(one, lines) is None]
    wrong += [
        f"{one!r} was said: {line.strip()}" for one in forbid for line in [_first(one, lines)] if line is not None
    ]
    if wrong:
        return Finding("bad", wrong[0], tuple(wrong))
    return Finding("good", f"{len(expect)} expected lines are there, {len(forbid)} forbidden ones are not")


def _first(pattern: str, lines: list[str]) -> str | None:
    compiled = re.compile(pattern)
    return next((line for line in lines if compiled.search(line)), None)
