"""Follows a bash script from top to bottom as far as its words can be known."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from dsv4deploy.model.imported import Piece, Sure, Word
from dsv4deploy.model.place import Place
from dsv4deploy.source import starting
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.bits import Bit, Bits, Inner, Source, plain, weaker, word
from dsv4deploy.source.bash.builtins import BUILTINS
from dsv4deploy.source.bash.entering import Given, enter
from dsv4deploy.source.bash.parameters import Variable
from dsv4deploy.source.bash.state import Around, Here, Read, State, as_word
from dsv4deploy.source.bash.tree import tree, walk
from dsv4deploy.source.bash.words import Words, nested

if TYPE_CHECKING:
    from tree_sitter import Node

_CONDITIONAL = {"if_statement", "case_statement", "for_statement", "while_statement", "c_style_for_statement"}
_COMPLAINS = {"echo", "printf", ":", "true", "false"}
_STOPS = {"exit", "return"}
_PARTS = {"do_group", "else_clause", "elif_clause", "case_item"}
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
        self._reached = 0
        self._root = tree(source.data)
        self._words = Words(source, nested(self._root), self)
        account.opened(source)
        account.used |= {self._text(name) for node in walk(self._root) for name in _asked(node)}
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
        shell = self.inner(Source(self.account.named(path), text), self.state, self.starter)
        shell.follow()
        if shell.returned:
            self.state.over = ""
        return True

    # Statements.

    def _block(self, nodes: "Sequence[Node]") -> None:
        for at, node in enumerate(nodes):
            if node.start_byte < self._reached:
                continue
            if not node.is_named:
                self._piece(node, "separator")
                continue
            behind = at + 1 < len(nodes) and nodes[at + 1].type == "&"
            self._within(replace(self.around, background=self.around.background or behind), self._statement, node)

    def _within(self, around: Around, step: "Callable[[Node], None]", node: "Node") -> None:
        before, self.around = self.around, around
        step(node)
        self.around = before

    def _statement(self, node: "Node") -> None:
        if node.type == "comment":
            self._piece(node, "comment")
        elif self.state.over:
            self._leave(node, self.state.over)
        elif node.type in _CONDITIONAL:
            self._conditional(node)
        elif node.type in {"program", "compound_statement", "variable_assignments"}:
            self._block(node.children)
        else:
            self._step(node.type)(node)

    def _step(self, kind: str) -> "Callable[[Node], None]":
        steps: dict[str, Callable[[Node], None]] = {
            "ERROR": self._broken,
            "command": self._command,
            "declaration_command": self._declaration,
            "function_definition": self._function,
            "list": self._list,
            "pipeline": self._pipeline,
            "redirected_statement": self._redirected,
            "subshell": self._subshell,
            "unset_command": self._unset,
            "variable_assignment": self._assignment,
        }
        return steps.get(kind, lambda node: self._leave(node, "it sets nothing and starts nothing that we follow"))

    def _broken(self, node: "Node") -> None:
        """What the parser cannot make sense of: the commands in it are read, the rest is left."""
        for child in node.children:
            if child.is_named and child.child_count and child.type != "ERROR":
                self._statement(child)
            elif child.type != "\n":
                self._leave(child, "the parser finds no bash in it")

    def _conditional(self, node: "Node") -> None:
        parts = [child for child in node.children if child.is_named]
        if node.type == "if_statement" and self._only_stops(parts[1:]):
            return self._piece(node, "guard")
        if node.type == "if_statement" and self._is_here(parts[0]) and not _has_parts(parts):
            self._piece(parts[0], "test: the file is here")
            return self._block([child for child in node.children if child != parts[0]])
        if node.type == "if_statement" and self._asks_caller(parts[0], "-z") and not _has_parts(parts):
            before = dict(self.state.variables)
            self._piece(parts[0], "test: the caller sets nothing")
            self._block([child for child in node.children if child != parts[0]])
            return self._weaken(before)
        why = f"`{self._line(node)}` decides whether or how often it runs"
        unless = node.type == "if_statement" and self._asks_caller(parts[0], "-n") and not _has_parts(parts)
        return self._branch(node, node.children, why, unless_told=unless)

    def _asks_caller(self, test: "Node", operator: str) -> bool:
        """Whether a test asks if a variable is empty (`-z`) or not (`-n`) that only the caller can have set."""
        expression = next((child for child in test.children if child.type == "unary_expression"), None)
        if test.type != "test_command" or expression is None or expression.child_count != 2:  # noqa: PLR2004 (operator and word)
            return False
        asked, text = expression.children
        bits = self._words.cook(text.start_byte, text.end_byte, value=True)
        names = [name for node in walk(text) for name in _asked(node)]
        open_ = {self._text(name) for name in names} - self.state.variables.keys()
        return (
            self._text(asked) == operator
            and len(names) == len(open_) == 1
            and not any(bit.text and not bit.hole for bit in bits)
        )

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
        quiet = Account(beside=self.account.beside, used=self.account.used, sources=self.account.sources)
        loud, self.account = self.account, quiet
        line = node.start_point[0] + 1
        around = replace(self.around, condition=self.around.condition or f"line {line}: {self._line(node)}")
        for child in nodes:
            self._within(around, self._maybe, child)
        self.account = loud
        loud.commands += quiet.commands
        for name, variable in self.state.variables.items():
            old = before.variables.get(name)
            if variable != old and unless_told and old:
                before.variables[name] = replace(old, items=tuple(weaker(bits, Sure.DEFAULT) for bits in old.items))
            elif variable != old and not unless_told:
                exported = variable.exported or (old is not None and old.exported)
                before.variables[name] = self._doubtful(name, node, exported)
        before.functions |= self.state.functions
        self.state = before
        if unless_told:
            self._piece(node, "only if the caller sets something")
        else:
            self._leave(node, why)

    def _maybe(self, node: "Node") -> None:
        if node.type in _PARTS:
            for child in node.children:
                self._maybe(child)
        elif node.is_named:
            self._statement(node)
            self.state.over = ""

    def _doubtful(self, name: str, node: "Node", exported: bool) -> Variable:
        hole = f"{name}, which line {node.start_point[0] + 1} may set"
        bit = Bit.unknown(hole, self.source, node.start_byte, node.end_byte, text=f"${{{name}}}")
        return Variable(((bit,),), exported=exported, place=self._place(node))

    def _list(self, node: "Node") -> None:
        if node.child_count != 3:  # noqa: PLR2004 (left, operator, right)
            return self._broken(node)
        left, operator, right = node.children
        if operator.type == "&&" and self._is_test(left):
            if not self._is_here(left):
                return self._branch(node, [left, right], f"it depends on `{self._line(left)}`")
            self._piece(left, "test: the file is here")
        else:
            self._statement(left)
        self._piece(operator, "separator")
        if operator.type == "&&":
            return self._statement(right)
        if self._text(right) in {"true", ":"} or self._only_stops([right]):
            return self._piece(right, "guard")
        return self._branch(right, [right], f"it runs only if `{self._line(left)}` fails")

    def _only_stops(self, nodes: "Sequence[Node]") -> bool:
        """Whether they do nothing but complain and end the script: then what follows them happens as if they were not."""
        commands: list[Node] = []
        waiting = list(nodes)
        while waiting:
            node = waiting.pop()
            if node.type in {"redirected_statement", "compound_statement"}:
                waiting += [child for child in node.children if child.is_named and not child.type.endswith("_redirect")]
            elif node.type != "comment":
                commands.append(node)
        names = [self._name(node) for node in commands if node.type == "command"]
        return len(names) == len(commands) and set(names) <= _COMPLAINS | _STOPS and bool(set(names) & _STOPS)

    def _is_test(self, node: "Node") -> bool:
        if node.type == "command":
            return self._name(node) in {"test", "grep", "pgrep", "command", "which"}
        return node.type in {"test_command", "negated_command"}

    def _is_here(self, test: "Node") -> bool:
        """Whether a test asks for a file that we can see: then what hangs on it happens."""
        expression = next((child for child in test.children if child.type == "unary_expression"), None)
        if test.type != "test_command" or expression is None or expression.child_count != 2:  # noqa: PLR2004 (operator and file)
            return False
        operator, file = expression.children
        name = plain(self._words.cook(file.start_byte, file.end_byte, value=True))
        return self._text(operator) in {"-f", "-e", "-r", "-s"} and name is not None and self.read(name) is not None

    def _pipeline(self, node: "Node") -> None:
        parts = [child for child in node.children if child.is_named]
        before = self.state
        for at, part in enumerate(parts):
            self.state = before.copy()
            rest = self.source.text(part.end_byte, node.end_byte).strip()
            piped = (Piece(self.source.place(part.end_byte, node.end_byte), rest),) if rest else ()
            found = len(self.account.commands)
            self._within(replace(self.around, outputs=self.around.outputs + piped), self._statement, part)
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
            return self._leave(node, "the parser finds no function in it")
        self.state.functions[self._text(name)] = (self, body)
        self.account.piece(self.source, node.start_byte, body.start_byte, "function")
        return self._leave(node, f"the function {self._text(name)} is called nowhere")

    def call(self, body: "Node", caller: "Shell", arguments: tuple[Bits, ...]) -> None:
        """Follow a function of this source, called by `caller`."""
        mine = self.state, self.around, self.account, self.starter, self.depth
        self.state, self.around, self.account = caller.state, caller.around, caller.account
        self.starter, self.depth = caller.starter, caller.depth + 1
        given, self.state.arguments = self.state.arguments, arguments
        self._reached = 0
        self._statement(body)
        self.state.arguments = given
        if self.returned:
            self.state.over, self.returned = "", False
        self.state, self.around, self.account, self.starter, self.depth = mine

    def _redirected(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        if body is None:
            return self._leave(node, "a redirection without a command changes only where output goes")
        if body.type == "command":
            return self._command(body, redirects)
        outputs = tuple(self._output(redirect) for redirect in redirects)
        return self._within(replace(self.around, outputs=self.around.outputs + outputs), self._statement, body)

    def _output(self, node: "Node") -> Piece:
        end = _end_of_redirect(node)
        self.account.piece(self.source, node.start_byte, end, "output")
        return Piece(self.source.place(node.start_byte, end), self.source.text(node.start_byte, end))

    # Variables.

    def _assignment(self, node: "Node", exported: bool = False, role: str = "assignment") -> None:
        target, operator, value = node.children[0], node.children[1], node.child_by_field_name("value")
        name, bracket, index = self._text(target).partition("[")
        old = self.state.variables.get(name)
        end = self._end_of_assignment(node)
        place = self.source.place(operator.end_byte, end)
        array = value is not None and value.type == "array"
        if array and value is not None:
            words = self._words.split(value.start_byte + 1, value.end_byte - 1)
            items = tuple(bits for start, end in words for bits in self._words.fields(start, end))
        else:
            items = (self._words.cook(operator.end_byte, end, value=True),)
        if bracket:
            items, array = self._with_item(name, old, index.rstrip("]"), items[0], node), True
        elif operator.type == "+=":
            before = (
                old.items
                if old
                else ((Bit.unknown(name, self.source, node.start_byte, node.end_byte, text=f"${{{name}}}"),),)
            )
            items = (*before, *items) if array else ((*(before[0] if before else ()), *items[0]),)
        self.state.set(name, Variable(items, array, exported, place))
        if exported or not isinstance(self.source, Inner):
            self.account.assigned(name, self.source, node.start_byte, end)
        self.account.piece(self.source, node.start_byte, end, f"{role} {name}")
        self._reached = end

    def _end_of_assignment(self, node: "Node") -> int:
        value = node.child_by_field_name("value")
        is_array = value is not None and value.type == "array"
        return node.end_byte if is_array else self._words.end(node.children[1].end_byte)

    def _with_item(self, name: str, old: Variable | None, index: str, bits: Bits, node: "Node") -> tuple[Bits, ...]:
        items = list(old.items) if old else []
        if not index.isdigit() or int(index) > len(items):
            return ((Bit.unknown(name, self.source, node.start_byte, node.end_byte, text=f"${{{name}[@]}}"),),)
        items[int(index) : int(index) + 1] = [bits]
        return tuple(items)

    def _declaration(self, node: "Node") -> None:
        keyword, *rest = node.children
        options = "".join(self._text(child) for child in rest if self._text(child).startswith("-"))
        exports = (self._text(keyword) == "export" or "x" in options) and "n" not in options
        self._piece(keyword, "keyword")
        end = 0
        for child in rest:
            if child.type == "variable_assignment":
                self._assignment(child, exports, "export" if exports else "assignment")
                end = self._end_of_assignment(child)
            elif child.start_byte < end:
                continue
            elif self._text(child).startswith("-"):
                self._piece(child, "option")
            else:
                self._declared(child, exports, "n" in options)

    def _declared(self, node: "Node", exports: bool, hides: bool) -> None:
        """`export X`, `export "X=y"`, `export $LIST`."""
        bits = self._words.cook(node.start_byte, node.end_byte, value=True)
        head = "" if not bits or bits[0].hole else bits[0].text
        assigned = starting.ASSIGNMENT.match(head)
        name = assigned[1] if assigned else head
        if not name.isidentifier() or (not assigned and plain(bits) != name):
            return self._leave(node, "which variable it exports is not known")
        old = self.state.variables.get(name)
        if assigned:
            value = (bits[0].part(assigned.end(), len(head)), *bits[1:])
            self.state.set(name, Variable((value,), exported=exports, place=self._place(node)))
        elif old is not None:
            self.state.variables[name] = replace(old, exported=(old.exported or exports) and not hides)
        return self._piece(node, f"export {name}" if exports else f"declaration {name}")

    def _unset(self, node: "Node") -> None:
        for child in node.children[1:]:
            name = self._text(child)
            if name.isidentifier():
                self.state.variables[name] = Variable(())
                self.state.removed.append(name)
        self._piece(node, "unset")

    # Commands.

    def _command(self, node: "Node", redirects: "Sequence[Node]" = ()) -> None:
        redirects = [*(child for child in node.children if child.type.endswith("_redirect")), *redirects]
        outputs = tuple(self._output(child) for child in redirects)
        inline = [child for child in node.children if child.type == "variable_assignment"]
        name = node.child_by_field_name("name")
        start = max([node.end_byte if name is None else name.start_byte, *map(self._end_of_assignment, inline)])
        end = max([node.end_byte, *(child.end_byte for child in redirects if child.type == "file_redirect")])
        skip = [(child.start_byte, _end_of_redirect(child)) for child in redirects]
        end = self._words.end(end)
        self._reached = end
        given = self._given(start, end, skip)
        before = self.state
        # Without a command the assignments stay; with one they are its own.
        if given:
            self.state = before.copy()
        for child in inline:
            self._assignment(child, exported=bool(given), role="variable")
        around = replace(self.around, outputs=self.around.outputs + outputs)
        if given:
            self._within(around, lambda found: self._run(given, (found.start_byte, end)), node)
            if inline:
                before.over = self.state.over
                self.state = before
        else:
            self.account.piece(self.source, start, max(start, end), "message")

    def _given(self, start: int, end: int, skip: Sequence[tuple[int, int]]) -> list[Given]:
        found = []
        for first, last in self._words.split(start, end, skip):
            place = self.source.place(first, last)
            found += [Given(word(bits, place), bits) for bits in self._words.fields(first, last)]
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
            self._start(given, whole)

    def _start(self, given: list[Given], whole: tuple[int, int]) -> None:
        peeled = starting.peeled(tuple(one.word for one in given))
        outer = self.starter or Here(self.source.place(*whole))
        here = replace(
            outer,
            place=self.source.place(*whole),
            prefixes=(*outer.prefixes, *peeled.prefixes),
            environment=self._environment(peeled),
        )
        before, self.state = self.state, self.state.copy()
        self.state.removed += peeled.removed
        entered = enter(self, given[len(given) - len(peeled.rest) :], here)
        self.state = before
        if not entered:
            return self.account.leave(self.source, *whole, _unknown(given[0].word))
        self.account.piece(self.source, *whole, "start")
        if any(prefix.name == "exec" for prefix in peeled.prefixes) and not self.around.background:
            self.state.over = f"it is not reached: line {here.place.line} replaces the script by what it starts"
        return None

    def _environment(self, peeled: starting.Peeled) -> dict[str, Word]:
        """What a program gets here, without what the caller of the script has set."""
        own = self.state.exported() if "*" not in peeled.removed else {}
        self.account.used |= own.keys()
        place = self.source.place(0, 0)
        kept = {name: as_word(found, place) for name, found in own.items() if name not in peeled.removed}
        return kept | dict(peeled.environment)

    # Small words.

    def _text(self, node: "Node") -> str:
        return self.source.text(node.start_byte, node.end_byte)

    def _name(self, node: "Node") -> str:
        return next(iter(self._text(node).split(maxsplit=1)), "")

    def _line(self, node: "Node") -> str:
        first = self._text(node).split("\n", 1)[0].strip()
        return first if len(first) <= _WIDEST else f"{first[: _WIDEST - 3]}..."

    def _place(self, node: "Node") -> Place:
        return self.source.place(node.start_byte, node.end_byte)

    def _piece(self, node: "Node", role: str) -> None:
        self.account.piece(self.source, node.start_byte, node.end_byte, role)

    def _leave(self, node: "Node", reason: str) -> None:
        self.account.leave(self.source, node.start_byte, node.end_byte, reason)


def _has_parts(nodes: "Sequence[Node]") -> bool:
    return bool({node.type for node in nodes} & _PARTS)


def _asked(node: "Node") -> "Sequence[Node]":
    """The variable that an expansion asks for."""
    inside = node.children if node.type in {"simple_expansion", "expansion"} else ()
    inner = [name for child in inside if child.type == "subscript" for name in child.children]
    return [child for child in (*inside, *inner) if child.type == "variable_name"]


def _end_of_redirect(node: "Node") -> int:
    """Where a redirection ends: the grammar counts the words behind its file to it as well."""
    if node.type != "file_redirect":
        return node.end_byte
    return next((child.end_byte for child in node.children_by_field_name("destination")), node.end_byte)


def _unknown(name: Word) -> str:
    if name.text.startswith("-"):
        return "bash runs this as a command of its own: a comment or a missing `\\` above ended the command"
    return f"what `{name.text}` does to the launch is not known"
