"""Follows a bash script from top to bottom as far as its words can be known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4deploy.model.imported import Piece, Sure
from dsv4deploy.model.place import Place
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.answers import Taken, answered, taken
from dsv4deploy.source.bash.assigning import assign, declare, end_of, unset
from dsv4deploy.source.bash.bits import Bits, Source, weaker, word
from dsv4deploy.source.bash.builtins import BUILTINS, SETS
from dsv4deploy.source.bash.conditions import (
    BRANCHING,
    CONDITIONAL,
    PARTS,
    asks_arguments,
    asks_caller,
    file_is_here,
    has_parts,
    is_test,
    only_stops,
)
from dsv4deploy.source.bash.entering import Given
from dsv4deploy.source.bash.parameters import Variable
from dsv4deploy.source.bash.programs import start
from dsv4deploy.source.bash.state import Around, Here, Read, State, longer, unsure
from dsv4deploy.source.bash.tree import names_asked, tree, walk
from dsv4deploy.source.bash.words import Words, nested

if TYPE_CHECKING:
    from tree_sitter import Node

_CARRIAGE_RETURN = "lines end in CR LF: bash takes the CR into the last word of each; it is read as if saved with LF"
_DEEPEST = 8
_WIDEST = 60


class Shell:
    """Follows one source; what it sources or starts gets a shell of its own with the same account."""

    def __init__(self, source: Source, account: Account, state: State, read: Read, folder: str = "") -> None:
        self.source, self.account, self.state, self.read = source, account, state, read
        self.folder = folder
        self.around = Around()
        self.returned = False
        self.starter: Here | None = None
        self.depth = 0
        self.reached = 0
        self._root = tree(source.data)
        self.words = Words(source, nested(self._root), self)
        account.opened(source)
        account.asked |= {self.text(name) for node in walk(self._root) for name in names_asked(node)}
        if source.has_carriage_returns:
            account.leave_word("\r", source.place(0, 0), _CARRIAGE_RETURN)

    def follow(self) -> None:
        """Read the whole source."""
        self._block(self._root.children)

    # What words ask a shell for.

    def variable(self, name: str) -> Variable | None:
        """The variable, or None if nothing here says what it is."""
        return self.state.variables.get(name)

    def positional(self) -> tuple[Bits, ...] | None:
        """The arguments here, or None if only the caller knows them."""
        return self.state.arguments

    def assign(self, name: str, bits: Bits) -> None:
        """Set a variable."""
        self.state.set(name, Variable((bits,)))

    # What builtins and starts ask a shell for.

    @property
    def may_go_deeper(self) -> bool:
        """Whether another file or function may be followed: one that calls itself would never end."""
        return self.depth < _DEEPEST

    def inner(self, source: Source, state: State, starter: Here | None) -> "Shell":
        """A shell for a script that is started or sourced here."""
        shell = Shell(source, self.account, state, self.read, self.folder)
        shell.around, shell.starter, shell.depth = self.around, starter, self.depth + 1
        return shell

    def source_file(self, path: str) -> bool:
        """Follow a sourced file in this very state; whether it could be read."""
        own = self.folder.rstrip("/") + "/"
        path = path.removeprefix(own) if self.folder else path
        text = self.read(path) if self.may_go_deeper else None
        if text is None:
            return False
        self.follow_here(Source(self.account.named(path), text))
        return True

    def follow_here(self, source: Source) -> None:
        """Follow a text as if it stood here."""
        shell = self.inner(source, self.state, self.starter)
        shell.follow()
        if shell.returned:
            self.state.over = ""

    # Statements.

    def _block(self, nodes: "Sequence[Node]") -> None:
        for at, node in enumerate(nodes):
            if node.start_byte < self.reached:
                continue
            if not node.is_named:
                self.piece(node, "separator")
                continue
            behind = at + 1 < len(nodes) and nodes[at + 1].type == "&"
            self._within(replace(self.around, background=self.around.background or behind), self.statement, node)

    def _within(self, around: Around, step: "Callable[[Node], None]", node: "Node") -> None:
        before, self.around = self.around, around
        step(node)
        self.around = before

    def statement(self, node: "Node") -> None:
        if node.type == "comment":
            self.piece(node, "comment")
        elif self.state.over:
            self.leave(node, self.state.over)
        elif node.type in CONDITIONAL:
            self._conditional(node)
        elif node.type == "compound_statement" and node.children[0].type == "((":
            self._arithmetic(node)
        elif node.type in {"program", "compound_statement", "variable_assignments"}:
            self._block(node.children)
        else:
            self._step(node.type)(node)

    def _step(self, kind: str) -> "Callable[[Node], None]":
        steps: dict[str, Callable[[Node], None]] = {
            "ERROR": self._broken,
            "command": self._command,
            "declaration_command": lambda node: declare(self, node),
            "function_definition": self._function,
            "list": self._list,
            "pipeline": self._pipeline,
            "redirected_statement": self._redirected,
            "subshell": self._subshell,
            "unset_command": lambda node: unset(self, node),
            "variable_assignment": lambda node: assign(self, node),
        }
        return steps.get(kind, lambda node: self.leave(node, "it sets nothing and starts nothing that we follow"))

    def _arithmetic(self, node: "Node") -> None:
        """`(( X = 4 ))`: what it assigns is not followed."""
        for child in walk(node):
            before = self.source.text(node.start_byte, child.start_byte).rstrip()
            sets = before.endswith(("++", "--")) or SETS.match(self.source.text(child.end_byte, node.end_byte))
            if child.type == "variable_name" and sets:
                name = self.text(child)
                self.state.set(name, unsure(name, self.source, node.start_byte, node.end_byte))
        self.leave(node, "arithmetic is not followed")

    def _broken(self, node: "Node") -> None:
        """What the parser cannot make sense of: the commands in it are read, the rest is left.

        Among the words of a branch or a loop nobody knows whether they run.
        """
        around = self.around
        if not around.condition and any(child.type in BRANCHING for child in node.children):
            around = replace(around, condition=f"line {self.place(node).line}: {self.line(node)}")
        for child in node.children:
            if child.is_named and child.child_count and not child.has_error:
                self._within(around, self.statement, child)
            elif child.type != "\n":
                self.leave(child, "the parser finds no bash in it")

    def _conditional(self, node: "Node") -> None:
        parts = [child for child in node.children if child.is_named]
        if node.type == "if_statement" and only_stops(self, parts[1:]):
            return self.piece(node, "guard")
        if node.type == "if_statement" and file_is_here(self, parts[0]) and not has_parts(parts):
            self.piece(parts[0], "test: the file is here")
            return self._block([child for child in node.children if child != parts[0]])
        if node.type == "if_statement" and asks_caller(self, parts[0], "-z") and not has_parts(parts):
            before = dict(self.state.variables)
            self.piece(parts[0], "test: the caller sets nothing")
            self._block([child for child in node.children if child != parts[0]])
            return self._weaken(before)
        way = taken(self, node) if node.type == "if_statement" else None
        if way is not None:
            return self._take(way)
        why = f"`{self.line(node)}` decides whether or how often it runs"
        unless = node.type == "if_statement" and asks_caller(self, parts[0], "-n") and not has_parts(parts)
        unless = unless or (node.type == "while_statement" and asks_arguments(self, parts[0]))
        return self._branch(node, node.children, why, unless_told=unless)

    def _take(self, way: "Taken") -> None:
        for child in way.rest:
            self.piece(child, "separator" if not child.is_named else "test or what it passes over")
        self._block(way.runs)

    def _weaken(self, before: dict[str, Variable]) -> None:
        """What has changed since holds unless the caller says otherwise."""
        for name, variable in self.state.variables.items():
            if variable != before.get(name):
                items = tuple(weaker(bits, Sure.DEFAULT) for bits in variable.items)
                self.state.variables[name] = replace(variable, items=items)

    def _branch(self, node: "Node", nodes: "Sequence[Node]", why: str, *, unless_told: bool = False) -> None:
        """Something that may or may not happen: what it sets is unknown afterwards, what it starts is listed.

        `unless_told`: it happens only if the caller sets something, so that otherwise all stays as it is.
        """
        before, self.state = self.state, self.state.copy()
        quiet = Account(beside=self.account.beside, asked=self.account.asked, sources=self.account.sources)
        loud, self.account = self.account, quiet
        line = self.place(node).line
        around = replace(self.around, condition=self.around.condition or f"line {line}: {self.line(node)}")
        for child in nodes:
            self._within(around, self._maybe, child)
        self.account = loud
        loud.adopt(quiet, why)
        for name, variable in self.state.variables.items():
            old = before.variables.get(name)
            if variable != old and unless_told and old:
                before.variables[name] = replace(old, items=tuple(weaker(bits, Sure.DEFAULT) for bits in old.items))
            elif variable != old and not unless_told:
                exported = variable.exported or (old is not None and old.exported)
                spot = self.source, node.start_byte, node.end_byte
                doubt = unsure(name, *spot, array=variable.array, exported=exported)
                before.variables[name] = longer(old, variable, doubt)
        before.functions |= self.state.functions
        if before.hidden is not None:
            before.hidden = {**(self.state.hidden or {}), **before.hidden}
        self.state = before
        if unless_told:
            self.piece(node, "only if the caller sets something")
        else:
            self.leave(node, why)

    def _maybe(self, node: "Node") -> None:
        if node.type in PARTS:
            for child in node.children:
                self._maybe(child)
        elif node.is_named:
            self.statement(node)
            self.state.over = ""

    def _list(self, node: "Node") -> None:
        if node.child_count != 3:  # noqa: PLR2004 (left, operator, right)
            return self._broken(node)
        left, operator, right = node.children
        if operator.type == "&&" and is_test(self, left):
            answer = answered(self, left)
            if answer is not None:
                return self._take(Taken((right,), (left, operator)) if answer else Taken((), (left, operator, right)))
            if not file_is_here(self, left):
                return self._branch(node, [left, right], f"it depends on `{self.line(left)}`")
            self.piece(left, "test: the file is here")
        else:
            self.statement(left)
        self.piece(operator, "separator")
        if operator.type == "&&":
            return self.statement(right)
        if self.text(right) in {"true", ":"} or only_stops(self, [right]):
            return self.piece(right, "guard")
        return self._branch(right, [right], f"it runs only if `{self.line(left)}` fails")

    def _pipeline(self, node: "Node") -> None:
        parts = [child for child in node.children if child.is_named]
        before = self.state
        for at, part in enumerate(parts):
            self.state = before.copy()
            rest = self.source.text(part.end_byte, node.end_byte).strip()
            piped = (Piece(self.source.place(part.end_byte, node.end_byte), rest),) if rest else ()
            found = len(self.account.commands)
            self._within(replace(self.around, outputs=self.around.outputs + piped), self.statement, part)
            if len(self.account.commands) > found and rest:
                self.account.piece(self.source, part.end_byte, node.end_byte, "output")
                break
            if parts[at + 1 :]:
                self.account.piece(self.source, part.end_byte, parts[at + 1].start_byte, "separator")
        self.state = before

    def _subshell(self, node: "Node") -> None:
        before, self.state = self.state, self.state.copy()
        self._block(node.children)
        self.state = before

    def _function(self, node: "Node") -> None:
        name, body = node.child_by_field_name("name"), node.child_by_field_name("body")
        if name is None or body is None:
            return self.leave(node, "the parser finds no function in it")
        self.state.functions[self.text(name)] = (self, body)
        self.account.piece(self.source, node.start_byte, body.start_byte, "function")
        return self.account.defined(self.text(name), self.source, body.start_byte, node.end_byte)

    def call(self, body: "Node", caller: "Shell", arguments: tuple[Bits, ...]) -> None:
        """Follow a function of this source, called by `caller`."""
        mine = self.state, self.around, self.account, self.starter, self.depth
        self.state, self.around, self.account = caller.state, caller.around, caller.account
        self.starter, self.depth = caller.starter, caller.depth + 1
        given, self.state.arguments = self.state.arguments, arguments
        outer, self.state.hidden = self.state.hidden, {}
        self.reached = 0
        self.statement(body)
        self.state.restore(self.state.hidden)
        self.state.arguments, self.state.hidden = given, outer
        if self.returned:
            self.state.over, self.returned = "", False
        self.state, self.around, self.account, self.starter, self.depth = mine

    def _redirected(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        if body is None:
            return self.leave(node, "a redirection without a command changes only where output goes")
        if body.type == "command":
            return self._command(body, redirects)
        outputs = tuple(self._output(redirect) for redirect in redirects)
        return self._within(replace(self.around, outputs=self.around.outputs + outputs), self.statement, body)

    def _output(self, node: "Node") -> Piece:
        end = self._end_of_redirect(node)
        # For what it sets: `>${LOG:=out}`.
        self.words.cook(node.start_byte, end)
        self.account.piece(self.source, node.start_byte, end, "output")
        return Piece(self.source.place(node.start_byte, end), self.source.text(node.start_byte, end))

    def _end_of_redirect(self, node: "Node") -> int:
        """Where a redirection ends: the grammar counts words behind its file to it, and cuts its word short."""
        if node.type == "herestring_redirect":
            return self.words.end(node.children[-1].start_byte)
        target = next(iter(node.children_by_field_name("destination")), None)
        return self.words.end(target.start_byte) if target and node.type == "file_redirect" else node.end_byte

    # Commands.

    def _command(self, node: "Node", redirects: "Sequence[Node]" = ()) -> None:
        redirects = [*(child for child in node.children if child.type.endswith("_redirect")), *redirects]
        outputs = tuple(self._output(child) for child in redirects)
        inline = [child for child in node.children if child.type == "variable_assignment"]
        name = node.child_by_field_name("name")
        start = max([node.end_byte if name is None else name.start_byte, *(end_of(self, child) for child in inline)])
        end = max([node.end_byte, *(child.end_byte for child in redirects if child.type == "file_redirect")])
        skip = [(child.start_byte, self._end_of_redirect(child)) for child in redirects]
        end = self.words.end(end)
        self.reached = end
        given = self._given(start, end, skip)
        before = {self._assigned(child): self.variable(self._assigned(child)) for child in inline}
        for child in inline:
            assign(self, child, exported=bool(given), role="variable")
        around = replace(self.around, outputs=self.around.outputs + outputs)
        if given:
            self._within(around, lambda found: self._run(given, (found.start_byte, end)), node)
            # Without a command the assignments stay; with one they are its own.
            self.state.restore(before)
        else:
            self.account.piece(self.source, start, max(start, end), "message")

    def _assigned(self, node: "Node") -> str:
        return self.text(node.children[0]).partition("[")[0]

    def _given(self, start: int, end: int, skip: Sequence[tuple[int, int]]) -> list[Given]:
        found = []
        for first, last in self.words.split(start, end, skip):
            place = self.source.place(first, last)
            found += [Given(word(bits, place), bits) for bits in self.words.fields(first, last)]
        return found

    def _run(self, given: list[Given], whole: tuple[int, int]) -> None:
        """A command with its words: a function, a builtin, or a program."""
        name, rest = given[0].word.text, given[1:]
        words, bits = tuple(one.word for one in rest), [one.bits for one in rest]
        if name in self.state.functions and self.may_go_deeper:
            shell, body = self.state.functions[name]
            self.account.piece(self.source, *whole, f"call of {name}")
            self.account.called(name)
            shell.call(body, self, tuple(bits))
        elif name == "exec" and not rest:
            self.account.piece(self.source, *whole, "output")
        elif name in BUILTINS:
            role = BUILTINS[name](self, words, bits)
            if role:
                self.account.piece(self.source, *whole, role)
            else:
                self.account.leave(self.source, *whole, f"what `{name}` reads or changes here is not known")
        else:
            start(self, given, whole)

    # Small words.

    def text(self, node: "Node") -> str:
        return self.source.text(node.start_byte, node.end_byte)

    def first_word(self, node: "Node") -> str:
        return next(iter(self.text(node).split(maxsplit=1)), "")

    def line(self, node: "Node") -> str:
        first = self.text(node).split("\n", 1)[0].strip()
        return first if len(first) <= _WIDEST else f"{first[: _WIDEST - 3]}..."

    def place(self, node: "Node") -> Place:
        return self.source.place(node.start_byte, node.end_byte)

    def piece(self, node: "Node", role: str) -> None:
        self.account.piece(self.source, node.start_byte, node.end_byte, role)

    def leave(self, node: "Node", reason: str) -> None:
        self.account.leave(self.source, node.start_byte, node.end_byte, reason)
