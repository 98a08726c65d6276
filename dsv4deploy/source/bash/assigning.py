"""Assignments and declarations of a script: `X=y`, `A+=(...)`, `export X`, `unset X`."""

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4deploy.source import starting
from dsv4deploy.source.bash.bits import NAME, Bit, Bits, is_many, plain
from dsv4deploy.source.bash.parameters import Variable

if TYPE_CHECKING:
    from tree_sitter import Node

    from dsv4deploy.source.bash.shell import Shell

# An item with a key, as in `declare -A PORT=([a]=1)`.
_KEYED = re.compile(r"\[[^]]*\]\+?=")


def assign(shell: "Shell", node: "Node", *, exported: bool = False, role: str = "assignment") -> None:
    """Follow one assignment."""
    target, operator = node.children[:2]
    name, bracket, index = shell.text(target).partition("[")
    end = end_of(shell, node)
    if not NAME.fullmatch(name):
        return shell.leave(node, f"{name} is no name that a variable can have")
    items, array = _items(shell, node, operator.end_byte, end, name)
    old = shell.state.variables.get(name)
    if bracket or (old and old.array and not array):
        # To an array a word without brackets is its first item.
        index = index.rstrip("]") or "0"
        items, array = _with_item(shell, node, index, items[0], longer=operator.type == "+="), True
    elif operator.type == "+=":
        before = old.items if old else (_unknown(shell, node, f"{name}[@]" if array else name),)
        items = _longer(before, items, array)
    shell.state.set(name, Variable(items, array, exported, shell.source.place(operator.end_byte, end)))
    shell.account.assigned(name, shell.source, node.start_byte, end)
    shell.account.piece(shell.source, node.start_byte, end, f"{role} {name}")
    shell.reached = end
    return None


def end_of(shell: "Shell", node: "Node") -> int:
    """Where an assignment really ends."""
    value = node.child_by_field_name("value")
    is_array = value is not None and value.type == "array"
    return node.end_byte if is_array else shell.words.end(node.children[1].end_byte)


def _items(shell: "Shell", node: "Node", start: int, end: int, name: str) -> tuple[tuple[Bits, ...], bool]:
    value = node.child_by_field_name("value")
    if value is None or value.type != "array":
        return (shell.words.cook(start, end, value=True),), False
    words = tuple(shell.words.split(value.start_byte + 1, value.end_byte - 1))
    if any(_KEYED.match(shell.source.text(first, last)) for first, last in words):
        return (_unknown(shell, node, f"{name}[@]"),), True
    return tuple(bits for first, last in words for bits in shell.words.fields(first, last)), True


def _longer(before: tuple[Bits, ...], items: tuple[Bits, ...], array: bool) -> tuple[Bits, ...]:
    return (*before, *items) if array else ((*(before[0] if before else ()), *items[0]),)


def _unknown(shell: "Shell", node: "Node", name: str) -> Bits:
    return (Bit.unknown(name, shell.source, node.start_byte, node.end_byte, text=f"${{{name}}}"),)


def _with_item(shell: "Shell", node: "Node", index: str, bits: Bits, *, longer: bool) -> tuple[Bits, ...]:
    name = shell.text(node.children[0]).partition("[")[0]
    old = shell.state.variables.get(name)
    items = list(old.items) if old else []
    whole = f"{name}[@]"
    has_gaps = any(is_many(bit) for item in items for bit in item)
    if has_gaps or not index.isdigit() or int(index) > len(items):
        return (_unknown(shell, node, whole),)
    before = items[int(index)] if longer and int(index) < len(items) else ()
    items[int(index) : int(index) + 1] = [(*before, *bits)]
    return tuple(items)


def declare(shell: "Shell", node: "Node") -> None:
    """Follow `export`, `declare`, `readonly`, `local`."""
    keyword, *rest = node.children
    kind = shell.text(keyword)
    options = "".join(shell.text(child) for child in rest if shell.text(child).startswith("-"))
    exports = (kind == "export" or "x" in options) and "n" not in options
    own = kind in {"local", "declare", "typeset"} and "g" not in options
    shell.piece(keyword, "keyword")
    for child in rest:
        if child.start_byte < shell.reached:
            continue
        if own and (name := NAME.match(shell.text(child))):
            shell.state.hide(name[0])
        if child.type == "variable_assignment":
            assign(shell, child, exported=exports, role="export" if exports else "assignment")
        elif shell.text(child).startswith("-"):
            shell.piece(child, "option")
        else:
            _declare(shell, child, exports, "n" in options)


def _declare(shell: "Shell", node: "Node", exports: bool, hides: bool) -> None:
    """`export X`, `export "X=y"`, `export $LIST`."""
    bits = shell.words.cook(node.start_byte, node.end_byte, value=True)
    head = "" if not bits or bits[0].hole else bits[0].text
    assigned = starting.ASSIGNMENT.match(head)
    name = assigned[1] if assigned else head
    if not NAME.fullmatch(name) or (not assigned and plain(bits) != name):
        return shell.leave(node, "which variable it exports is not known")
    old = shell.state.variables.get(name)
    if assigned:
        value = (bits[0].part(assigned.end(), len(head)), *bits[1:])
        shell.state.set(name, Variable((value,), exported=exports, place=shell.place(node)))
    elif old is not None:
        shell.state.variables[name] = replace(old, exported=(old.exported or exports) and not hides)
    return shell.piece(node, f"export {name}" if exports else f"declaration {name}")


def unset(shell: "Shell", node: "Node") -> None:
    """Follow `unset X Y`."""
    for child in node.children[1:]:
        name = shell.text(child)
        if NAME.fullmatch(name):
            shell.state.variables[name] = Variable(())
            shell.state.removed.append(name)
    shell.piece(node, "unset")
