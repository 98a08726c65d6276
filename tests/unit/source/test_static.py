"""The value of a Python expression, told from texts alone."""

import ast

import pytest

from dsv4deploy.source.named import Member, Outside, UnresolvedError
from dsv4deploy.source.static import Evaluator, Package

TEXTS = {
    "pack/__init__.py": "",
    "pack/a.py": """
from enum import Enum, auto
from pack.b import BASE as SHARED, table
from pack import b
import json

NAMES = ["x"] + SHARED
NAMES.append("late")
NAMES.extend(["later"])
SIZE = 10 * 2**3 + (1 << 4) - 0 if False else -1
MAYBE = None
ROUND = ROUND
try:
    import nowhere
except ImportError:
    FALLBACK = "there"

class Mode(Enum):
    OFF = auto()
    ON = auto()
    NAMED = "n"

class Holder:
    ONE = "1"
    ALL = (ONE, "2")

def choices():
    import sys
    found = sys.modules.get("pack.c")
    if found is not None:
        return found.NAMES
    from pack.b import BASE
    return [each.upper() for each in BASE if each != "q"]

def lost():
    return somewhere.else_()
""",
    "pack/b.py": 'BASE = ["p", "q"]\ntable = {"k": json.loads, "l": 2}\n',
}


def value(expression: str) -> object:
    package = Package(TEXTS, "pack")
    module = package.module("pack.a")
    assert module
    return Evaluator(package, module).value(ast.parse(expression, mode="eval").body)


@pytest.mark.parametrize(
    ("expression", "wanted"),
    [
        ("NAMES", ["x", "p", "q", "late", "later"]),
        ("SIZE", -1),
        ("not MAYBE", True),
        ("FALLBACK", "there"),
        ("b.BASE[1]", "q"),
        ("Mode.ON.value", 2),
        ("Mode.NAMED.value", "n"),
        ("[m.name.lower() for m in Mode]", ["off", "on", "named"]),
        ("Holder.ALL", ("1", "2")),
        ("list(table.keys())", ["k", "l"]),
        ("choices()", ["P"]),
        ("set(SHARED)", ["p", "q"]),
        ("[*SHARED, 1.5]", ["p", "q", 1.5]),
        ("{**table, 'm': 3}['m']", 3),
        ("json.loads", Outside("json.loads")),
        ("Mode.OFF", Member("OFF", 1)),
        ("'a' if SHARED is None else 'b'", "b"),
        ("f'{SIZE} of'", "{} of"),
        ("dict(a=1)", {"a": 1}),
    ],
)
def test_a_constant_expression_has_its_value(expression: str, wanted: object) -> None:
    assert value(expression) == wanted


@pytest.mark.parametrize(
    "expression",
    [
        "unheard_of",
        "lost()",
        "SHARED()",
        "SIZE % 3",
        "SIZE[0]",
        "[x for x in SIZE]",
        "b.NONE",
        "ROUND",
        "NAMES * 3",
        "2**1000",
        "1 << 99",
        "NAMES + 1",
        "table['q']",
    ],
)
def test_what_the_texts_do_not_tell_is_said(expression: str) -> None:
    with pytest.raises(UnresolvedError):
        value(expression)
