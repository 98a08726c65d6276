"""The syntax tree of a bash text; only structure is taken from it, words are read from the text itself."""

import re
from collections.abc import Iterator
from functools import cache
from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_OTHER = re.compile(rb"[\x80-\xff]")
_ESCAPED = re.compile(rb"\\.", re.DOTALL)
_BLANKS = {b" ", b"\t", b"\r", b"\v", b"\f"}


def tree(data: bytes) -> "Node":
    """The root of the tree; its byte offsets are those of `data`."""
    # To bash every other byte is a letter. The grammar takes some for blanks, and its scanner reads beyond the end of
    # a table of ASCII characters for `{` and one of them, which can end in a segmentation fault.
    masked = _OTHER.sub(b"x", data)
    # The grammar takes an escaped blank for a blank: it gets letters instead.
    masked = _ESCAPED.sub(lambda found: b"xx" if found[0][1:] in _BLANKS else found[0], masked)
    root = _parser().parse(masked).root_node
    seen = -1
    while (wrong := next(_misread(data, root), None)) and wrong[0] > seen:
        seen, instead = wrong
        masked = masked[:seen] + instead + masked[seen + len(instead) :]
        root = _parser().parse(masked).root_node
    return root


def walk(root: "Node") -> Iterator["Node"]:
    """Every node, outer before inner, in the order of the text."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.children)


def names_asked(node: "Node") -> "list[Node]":
    """The variable that an expansion asks for; nothing for another node."""
    inside = node.children if node.type in {"simple_expansion", "expansion"} else []
    inner = [name for child in inside if child.type == "subscript" for name in child.children]
    return [child for child in (*inside, *inner) if child.type in {"variable_name", "special_variable_name"}]


def end_of_ansi(data: bytes, start: int) -> int:
    """Where the string ends whose `$'` stands at `start`."""
    at = start + 2
    while at < len(data) and data[at : at + 1] != b"'":
        at += 2 if data[at : at + 1] == b"\\" else 1
    return at + 1


def _misread(data: bytes, root: "Node") -> Iterator[tuple[int, bytes]]:
    """Where the grammar goes wrong, and the bytes that put it right there."""
    for node in walk(root):
        if node.type == "ansi_c_string":
            # It lets `$'\\'` run on to the next quote: it gets the string without what is in it.
            end = end_of_ansi(data, node.start_byte)
            if end != node.end_byte and end <= len(data):
                inside = data[node.start_byte + 2 : end - 1]
                yield node.start_byte + 2, bytes(byte if byte == ord("\n") else ord("x") for byte in inside)
        elif node.type == "command":
            # It takes two assignments on a line of their own for variables of the command on the next line.
            for left, right in pairwise(node.children):
                gap = _ESCAPED.sub(b"xx", data[left.end_byte : right.start_byte])
                ends = left.type == "variable_assignment" and gap and (b"\n" in gap or right.type == "comment")
                if ends:
                    yield left.end_byte + max(gap.find(b"\n"), 0), b";"


@cache
def _parser() -> "Parser":
    # A good part of the start-up time of commands that read no script.
    import tree_sitter_bash  # noqa: PLC0415 (see above)
    from tree_sitter import Language, Parser  # noqa: PLC0415 (see above)

    return Parser(Language(tree_sitter_bash.language()))
