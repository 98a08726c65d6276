"""What an unquoted YAML word means here.

Only `true` and `false` are booleans, and whatever different readers read differently means nothing until it is quoted.
"""

import math
import re
from typing import NamedTuple

WORDS: dict[str, bool | None] = {
    "true": True,
    "false": False,
    "": None,
    "~": None,
    "null": None,
    "Null": None,
    "NULL": None,
}
# A number, a date or a time begins with one of these; all else is text.
_STARTS = frozenset("0123456789+-.")
_INTEGER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_DECIMAL = re.compile(r"[-+]?(?:(?:0|[1-9][0-9]*)\.[0-9]*(?:[eE][-+][0-9]+)?|\.[0-9]+(?:[eE][-+][0-9]+)?)")
_TIME = r"(?:[Tt]|[ \t]+)[0-9]{1,2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]*)?(?:[ \t]*(?:Z|[-+][0-9]{1,2}(?::?[0-9]{2})?))?"
_SURPRISES = (
    ("a number with a leading zero, octal to some readers", re.compile(r"[-+]?0[0-9_]+(?:\.[0-9_]*)?|[-+]?0o[0-7_]+")),
    ("a hexadecimal or binary number to some readers", re.compile(r"[-+]?0x[0-9a-fA-F_]+|[-+]?0b[01_]+")),
    (
        "a sexagesimal number (base 60) to some readers",
        re.compile(r"[-+]?[0-9][0-9_]*(?::[0-5]?[0-9])+(?:\.[0-9_]*)?"),
    ),
    ("a date or time to some readers", re.compile(rf"[0-9]{{4}}-[0-9]{{1,2}}-[0-9]{{1,2}}(?:{_TIME})?")),
    (
        "a number with underscores, text to some readers",
        re.compile(r"[-+]?(?=[0-9.]*_)[0-9_]+(?:\.[0-9_]*)?|[-+]?(?=[0-9.]*_)\.[0-9_]+"),
    ),
    (
        "a number in scientific notation, text to some readers",
        re.compile(r"[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)[eE][-+]?[0-9]+"),
    ),
    ("infinity or not-a-number", re.compile(r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)")),
)
_LARGEST = 2**63 - 1


class Surprise(NamedTuple):
    """A plain word whose meaning depends on who reads it."""

    meaning: str


def meaning(text: str) -> bool | int | float | str | Surprise | None:
    """What the unquoted scalar `text` stands for."""
    if text in WORDS:
        return WORDS[text]
    if text[0] not in _STARTS:
        return text
    if _INTEGER.fullmatch(text):
        return _integer(text)
    if _DECIMAL.fullmatch(text):
        number = float(text)
        return number if math.isfinite(number) else Surprise("a number too large to hold")
    return next((Surprise(said) for said, pattern in _SURPRISES if pattern.fullmatch(text)), text)


def _integer(text: str) -> int | Surprise:
    # Twenty digits are enough for 64 bits; int() refuses very long ones by itself, with an error of its own.
    number = int(text) if len(text) <= len(str(_LARGEST)) + 1 else _LARGEST + 1
    return number if abs(number) <= _LARGEST else Surprise("a number too large to hold")
