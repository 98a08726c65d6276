"""Comparing versions of packages as PEP 440 does, as far as a patch needs it, without a library."""

from __future__ import annotations

import re
from typing import Tuple

_VERSION = re.compile(
    r"v?(?:(\d+)!)?(\d+(?:\.\d+)*)(?:[._-]?(a|b|rc|alpha|beta|c|pre|preview)[._-]?(\d*))?"
    r"(?:[._-]?(post|rev|r)[._-]?(\d*)|-(\d+))?(?:[._-]?(dev)[._-]?(\d*))?(?:\+[a-z0-9._-]+)?$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"\s*(==|!=|<=|>=|<|>|~=)\s*(.+?)\s*$")
_STAGES = {"a": 0, "alpha": 0, "b": 1, "beta": 1, "rc": 2, "c": 2, "pre": 2, "preview": 2}
_FINAL, _DEV_OF_RELEASE = 3, -1

Key = Tuple[int, Tuple[int, ...], Tuple[int, int], Tuple[int, int], Tuple[int, int]]


def fits(version: str, specifier: str) -> bool:
    """Whether `version` satisfies every clause of `specifier` (`>=0.5.13,<0.5.14`); pre-releases count as versions.

    Raises:
        ValueError: one of them cannot be read.
    """
    return all(_holds(version, clause) for clause in specifier.split(","))


def _holds(version: str, clause: str) -> bool:
    found = _CLAUSE.match(clause)
    if not found:
        raise ValueError(f"{clause!r} is no version clause")
    sign, wanted = found.groups()
    if wanted.endswith(".*"):
        parts = [int(one) for one in wanted[:-2].split(".")]
        same = list(_padded(_key(version)[1], len(parts))[: len(parts)]) == parts
        return same if sign == "==" else not same
    own, other = _key(version), _key(wanted)
    if sign == "~=":
        prefix = [int(one) for one in re.split(r"[^\d.]|\.(?!\d)", wanted)[0].split(".")[:-1]]
        return own >= other and list(_padded(own[1], len(prefix))[: len(prefix)]) == prefix
    same = own[:2] == other[:2]
    if sign == "<" and same and _is_early(own) and not _is_early(other):
        return False  # `<1.0` does not mean the pre-releases of 1.0
    if sign == ">" and same and own[3] != (0, 0) and other[3] == (0, 0):
        return False  # nor `>1.0` its post-releases
    return {
        "==": own == other,
        "!=": own != other,
        "<=": own <= other,
        ">=": own >= other,
        "<": own < other,
        ">": own > other,
    }[sign]


def _key(text: str) -> Key:
    found = _VERSION.match(text.strip())
    if not found:
        raise ValueError(f"{text!r} is no version")
    epoch, release, stage, stage_number, post, post_number, dash, dev, dev_number = found.groups()
    numbers = tuple(int(one) for one in release.split("."))
    while len(numbers) > 1 and not numbers[-1]:
        numbers = numbers[:-1]
    pre = (_STAGES[stage.lower()], int(stage_number or 0)) if stage else (_FINAL, 0)
    if dev and not stage and not (post or dash):
        pre = (_DEV_OF_RELEASE, 0)
    after = (1, int(post_number or dash or 0)) if post or dash else (0, 0)
    return int(epoch or 0), numbers, pre, after, (0, int(dev_number or 0)) if dev else (1, 0)


def _is_early(key: Key) -> bool:
    return key[2] != (_FINAL, 0) or not key[4][0]


def _padded(numbers: tuple[int, ...], length: int) -> tuple[int, ...]:
    return numbers + (0,) * (length - len(numbers))
