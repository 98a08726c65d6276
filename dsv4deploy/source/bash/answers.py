"""Answers tests of a script (`[[ "$A" == x ]]`, `[ -n "$B" ]`) whose words the script itself or its caller has said."""

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from dsv4deploy.model.imported import Sure
from dsv4deploy.source.bash.bits import BLANKS, PATTERN
from dsv4deploy.source.bash.tree import names_asked, walk

if TYPE_CHECKING:
    from tree_sitter import Node

    from dsv4deploy.source.bash.shell import Shell

# An operand of another kind is a misreading of the grammar, or something that needs to be run.
_OPERANDS: Final = {
    "string", "raw_string", "word", "number", "simple_expansion", "expansion", "concatenation", "extglob_pattern",
}  # fmt: skip
_SAID: Final = {Sure.LITERAL, Sure.ASSIGNED}
_TEXTS: Final[dict[str, Callable[[str, str], bool]]] = {
    "=": lambda left, right: left == right,
    "==": lambda left, right: left == right,
    "!=": lambda left, right: left != right,
}
_NUMBERS: Final[dict[str, Callable[[int, int], bool]]] = {
    "-eq": lambda left, right: left == right,
    "-ne": lambda left, right: left != right,
    "-lt": lambda left, right: left < right,
    "-le": lambda left, right: left <= right,
    "-gt": lambda left, right: left > right,
    "-ge": lambda left, right: left >= right,
}
# Bash takes a leading zero for octal.
_WHOLE: Final = re.compile(r"-?(0|[1-9]\d*)", re.ASCII)
_SIDES: Final = 3  # left, operator, right


class Taken(NamedTuple):
    """What an `if` comes to: the statements that run, and all else of it that does not or only asks."""

    runs: "tuple[Node, ...]"
    rest: "tuple[Node, ...]"


def taken(shell: "Shell", node: "Node") -> Taken | None:
    """The way that an `if` goes; None where a test on it cannot be answered."""
    clauses = [child for child in node.children if child.type in {"elif_clause", "else_clause"}]
    parts = [[child for child in node.children if child not in clauses], *(clause.children for clause in clauses)]
    body: list[Node] = []
    for part in parts:
        tests, then = _divided(part)
        answer = True if tests is None else answered(shell, tests[0]) if len(tests) == 1 else None
        if answer is None:
            return None
        if answer:
            body = then
            break
    return Taken(tuple(body), tuple(child for part in parts for child in part if child not in body))


def answered(shell: "Shell", test: "Node") -> bool | None:
    """Whether a test holds; None where that is not known."""
    if test.has_error:
        return None
    named = [child for child in test.children if child.is_named]
    if test.type == "negated_command" and len(named) == 1:
        return _not(answered(shell, named[0]))
    if test.type == "list" and test.child_count == _SIDES:
        return _both(shell.text(test.children[1]), answered(shell, test.children[0]), answered(shell, test.children[2]))
    if test.type != "test_command" or len(named) != 1:
        return None
    return _holds(shell, named[0], double=shell.text(test).startswith("[["))


def _holds(shell: "Shell", node: "Node", *, double: bool) -> bool | None:
    if node.type == "unary_expression" and node.child_count == _SIDES - 1:
        return _of_one(shell, *node.children, double=double)
    if node.type == "binary_expression" and node.child_count == _SIDES:
        return _of_two(shell, *node.children, double=double)
    return None


def _of_one(shell: "Shell", asked: "Node", operand: "Node", *, double: bool) -> bool | None:
    operator = shell.text(asked)
    if operator == "!":
        return _not(_holds(shell, operand, double=double))
    said = _text(shell, operand, double=double) if operator in {"-n", "-z"} else None
    return None if said is None else bool(said) is (operator == "-n")


def _of_two(shell: "Shell", left: "Node", asked: "Node", right: "Node", *, double: bool) -> bool | None:
    operator = shell.text(asked)
    if operator in {"&&", "||"}:
        return _both(operator, *(_holds(shell, side, double=double) for side in (left, right)))
    one, other = (_text(shell, side, double=double) for side in (left, right))
    if one is None or other is None:
        return None
    if operator in _TEXTS:
        return _TEXTS[operator](one, other)
    whole = _WHOLE.fullmatch(one) and _WHOLE.fullmatch(other)
    return _NUMBERS[operator](int(one), int(other)) if operator in _NUMBERS and whole else None


def _text(shell: "Shell", node: "Node", *, double: bool) -> str | None:
    """What an operand says, where that is said for sure and is one word that matches nothing but itself."""
    # The grammar breaks some words in two.
    if node.type not in _OPERANDS or shell.words.end(node.start_byte) != node.end_byte:
        return None
    # A default stands only for what the caller does not set, and an empty one leaves no trace.
    names = {shell.text(name) for inner in walk(node) for name in names_asked(inner)}
    if any(name.isidentifier() and name not in shell.state.variables for name in names):
        return None
    bits = shell.words.cook(node.start_byte, node.end_byte)
    if any(bit.hole or bit.ends or bit.sure not in _SAID for bit in bits):
        return None
    if any(not bit.quoted and PATTERN & set(bit.text) for bit in bits):
        return None
    text = "".join(bit.text for bit in bits)
    # `[ ]` splits what is not quoted, and of nothing unquoted it makes no word.
    split = not double and any(bit.split and set(bit.text) & set(BLANKS) for bit in bits)
    absent = not double and not text and not any(bit.quoted for bit in bits)
    return None if split or absent else text


def _not(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _both(operator: str, left: bool | None, right: bool | None) -> bool | None:
    if operator not in {"&&", "||"}:
        return None
    ends = operator == "||"
    if left is ends or (right is ends and left is not None):
        return ends
    return None if left is None or right is None else not ends


def _divided(children: "Sequence[Node]") -> "tuple[list[Node] | None, list[Node]]":
    """Tests and statements of a clause; no tests at all in an `else`."""
    then = next((at for at, child in enumerate(children) if child.type == "then"), None)
    tests = None if then is None else [child for child in children[:then] if child.is_named]
    begin = 0 if then is None else then + 1
    return tests, [child for child in children[begin:] if child.is_named]
