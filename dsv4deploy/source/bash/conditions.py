"""What a test or a guard of a script says without being run."""

from typing import TYPE_CHECKING

from dsv4deploy.source.bash.bits import plain
from dsv4deploy.source.bash.tree import names_asked, walk

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tree_sitter import Node

    from dsv4deploy.source.bash.shell import Shell

CONDITIONAL = {"if_statement", "case_statement", "for_statement", "while_statement", "c_style_for_statement"}
BRANCHING = {"if", "then", "elif", "else", "case", "while", "until", "for", "do"}
PARTS = {"do_group", "else_clause", "elif_clause", "case_item"}
_COMPLAINS = {"echo", "printf", ":", "true", "false"}
_STOPS = {"exit", "return"}
_ASKS = {"test", "grep", "pgrep", "command", "which"}


def has_parts(nodes: "Sequence[Node]") -> bool:
    """Whether a condition has more than one outcome (`else`, `elif`)."""
    return bool({node.type for node in nodes} & PARTS)


def is_test(shell: "Shell", node: "Node") -> bool:
    """Whether a command only answers a question."""
    if node.type == "command":
        return shell.first_word(node) in _ASKS
    if node.type == "list":
        return all(is_test(shell, part) for part in node.children if part.is_named)
    return node.type in {"test_command", "negated_command"}


def only_stops(shell: "Shell", nodes: "Sequence[Node]") -> bool:
    """Whether they do nothing but complain and end the script: then what follows them happens as if they were not."""
    commands: list[Node] = []
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node.type in {"redirected_statement", "compound_statement"}:
            waiting += [child for child in node.children if child.is_named and not child.type.endswith("_redirect")]
        elif node.type != "comment":
            commands.append(node)
    names = [shell.first_word(node) for node in commands if node.type == "command"]
    return len(names) == len(commands) and set(names) <= _COMPLAINS | _STOPS and bool(set(names) & _STOPS)


def file_is_here(shell: "Shell", test: "Node") -> bool:
    """Whether a test asks for a file that we can see: then what hangs on it happens."""
    operator, asked = _unary(test)
    if asked is None or shell.text(operator) not in {"-f", "-e", "-r", "-s"}:
        return False
    name = plain(shell.words.cook(asked.start_byte, asked.end_byte, value=True))
    return name is not None and shell.read(name) is not None


def asks_caller(shell: "Shell", test: "Node", operator: str) -> bool:
    """Whether a test asks if a variable is empty (`-z`) or not (`-n`) that only the caller can have set."""
    found, asked = _unary(test)
    if asked is None or shell.text(found) != operator:
        return False
    bits = shell.words.cook(asked.start_byte, asked.end_byte, value=True)
    names = [shell.text(name) for node in walk(asked) for name in names_asked(node)]
    is_open = len(names) == 1 and names[0] not in shell.state.variables
    return is_open and not any(bit.text and not bit.hole for bit in bits)


def asks_arguments(shell: "Shell", test: "Node") -> bool:
    """Whether a loop goes on while the caller has given arguments (`while [[ $# -gt 0 ]]`, `while getopts`)."""
    if shell.state.arguments is not None:
        return False
    asked = {shell.text(name) for node in walk(test) for name in names_asked(node)}
    return shell.first_word(test) == "getopts" or (bool(asked) and asked <= {"#", "1"})


def _unary(test: "Node") -> "tuple[Node, Node | None]":
    """The operator of a test of one thing, and that thing."""
    expression = next((child for child in test.children if child.type == "unary_expression"), None)
    if test.type != "test_command" or expression is None or expression.child_count != 2:  # noqa: PLR2004 (operator and word)
        return test, None
    return expression.children[0], expression.children[1]
