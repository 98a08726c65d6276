"""Reads a bash launch script: follows it from top to bottom as far as its words can be known, and starts nothing."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from dsv4deploy.model.imported import Command, Container, Imported, Piece, Prefix, Sure, Word
from dsv4deploy.model.place import Place
from dsv4deploy.source import containers, starting
from dsv4deploy.source.account import Account
from dsv4deploy.source.bits import Bit, Inner, Source, plain, word
from dsv4deploy.source.shellwords import Bits, Variable, Words, nested

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

Read = Callable[[str], str | None]
"""The text of a file by its path (relative ones start at the folder of the script); None if it is not there."""

# In practice every caller has these in the environment, so that an assignment reaches the engine without `export`.
_INHERITED = {"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "USER"}
_CONDITIONAL = {"if_statement", "case_statement", "for_statement", "while_statement", "c_style_for_statement"}
_TESTS = {"test_command", "negated_command"}
_SAYS = {"echo", "printf", ":", "true", "wait"}
_LIMITS = {"n": "nofile", "l": "memlock", "c": "core", "s": "stack", "u": "nproc", "v": "as", "m": "rss", "i": "sigpending"}
_SHELLS = {"bash", "sh", "dash"}
_DEEPEST = 8


@dataclass(slots=True)
class State:
    """What the script has set so far; `known` is what the caller of the script is said to have set."""

    variables: dict[str, Variable] = field(default_factory=dict)
    functions: dict[str, "tuple[Shell, Node]"] = field(default_factory=dict)
    arguments: tuple[Bits, ...] | None = None
    removed: list[str] = field(default_factory=list)
    limits: dict[str, Word] = field(default_factory=dict)
    exports_all: bool = False
    folder: Word | None = None
    venv: Word | None = None
    over: str = ""

    def copy(self) -> "State":
        """One that can go its own way, as a subshell does."""
        return replace(
            self,
            variables=dict(self.variables),
            functions=dict(self.functions),
            removed=list(self.removed),
            limits=dict(self.limits),
        )


@dataclass(frozen=True, slots=True)
class Around:
    """What stands around a command and holds for it."""

    condition: str = ""
    outputs: tuple[Piece, ...] = ()
    background: bool = False


@dataclass(frozen=True, slots=True)
class Here:
    """A program that is being started: by what, with which environment, in which container."""

    place: Place
    prefixes: tuple[Prefix, ...] = ()
    environment: Mapping[str, Word] = field(default_factory=dict)
    container: Container | None = None


class Shell:
    """Follows one source; sourced files get a shell of their own with the same state and account."""

    def __init__(self, source: Source, account: Account, state: State, read: Read, folder: str = "", depth: int = 0) -> None:
        self.source, self.account, self.state, self.read = source, account, state, read
        self.folder = folder
        self.used: set[str] = set()
        self._depth = depth
        self._root = _parser().parse(source.data).root_node
        self._words = Words(source, nested(self._root), self)
        self._around = Around()
        self._outer: Here | None = None
        account.opened(source)

    # The scope of the words.

    def variable(self, name: str) -> Variable | None:
        self.used.add(name)
        return self.state.variables.get(name)

    def positional(self) -> tuple[Bits, ...] | None:
        return self.state.arguments

    def assign(self, name: str, bits: Bits) -> None:
        self._set(name, Variable((bits,)))

    # Statements.

    def follow(self) -> None:
        """Read the whole source."""
        self._block(self._root.children)

    def _block(self, nodes: "Sequence[Node]") -> None:
        for at, node in enumerate(nodes):
            if node.is_named:
                behind = at + 1 < len(nodes) and nodes[at + 1].type == "&"
                self._within(replace(self._around, background=self._around.background or behind), self._statement, node)
            else:
                self._piece(node, "separator")

    def _within(self, around: Around, step: "Callable[[Node], None]", node: "Node") -> None:
        before, self._around = self._around, around
        step(node)
        self._around = before

    def _statement(self, node: "Node") -> None:
        if node.type == "comment":
            return self._piece(node, "comment")
        if self.state.over:
            return self._leave(node, self.state.over)
        if node.type in _CONDITIONAL:
            return self._branch(node, f"`{_line(self._text(node))}` decides whether or how often it runs")
        steps: dict[str, Callable[[Node], None]] = {
            "command": self._command,
            "variable_assignment": self._assignment,
            "variable_assignments": lambda found: self._block(found.children),
            "declaration_command": self._declaration,
            "unset_command": self._unset,
            "redirected_statement": self._redirected,
            "list": self._list,
            "pipeline": self._pipeline,
            "subshell": self._subshell,
            "compound_statement": lambda found: self._block(found.children),
            "function_definition": self._function,
        }
        step = steps.get(node.type)
        if step is None:
            if node.type == "ERROR":
                return self._broken(node)
            return self._leave(node, "it changes nothing that we follow")
        return step(node)

    def _broken(self, node: "Node") -> None:
        """What the parser cannot make sense of: the commands in it are read, the rest is left."""
        for child in node.children:
            if child.is_named and child.child_count and child.type != "ERROR":
                self._statement(child)
            elif child.type != "\n":
                self._leave(child, "the parser finds no bash in it")

    def _branch(self, node: "Node", why: str) -> None:
        """Something that may or may not happen: what it sets is unknown afterwards, what it starts is listed."""
        before = self.state
        self.state = before.copy()
        quiet = Account()
        loud, self.account = self.account, quiet
        condition = self._around.condition or f"line {node.start_point[0] + 1}: {_line(self._text(node))}"
        self._around = replace(self._around, condition=condition)
        for child in node.children:
            self._maybe(child)
        self._around = replace(self._around, condition="")
        self.account = loud
        loud.commands += quiet.commands
        loud.files += quiet.files
        for name, variable in self.state.variables.items():
            old = before.variables.get(name)
            if variable != old:
                before.variables[name] = self._doubtful(name, node, variable.exported or bool(old and old.exported))
        before.functions |= self.state.functions
        self.state = before
        self._leave(node, why)

    def _maybe(self, node: "Node") -> None:
        if node.type in {"do_group", "else_clause", "elif_clause", "case_item"}:
            for child in node.children:
                self._maybe(child)
        elif node.is_named:
            self.state.over = ""
            self._statement(node)
            self.state.over = ""

    def _doubtful(self, name: str, node: "Node", exported: bool) -> Variable:
        hole = f"{name}, which line {node.start_point[0] + 1} may set"
        bit = Bit(name, self.source, node.start_byte, node.end_byte, False, True, False, Sure.UNKNOWN, hole)
        return Variable(((bit,),), exported=exported, place=self._place(node))

    def _list(self, node: "Node") -> None:
        left, operator, right = node.children[0], node.children[1], node.children[-1]
        if left.type in _TESTS or (left.type == "command" and self._text(left).split()[0] in {"test", "["}):
            if operator.type == "&&" and self._is_here(left):
                self._piece(left, "test: the file is here")
                self._piece(operator, "separator")
                return self._statement(right)
            return self._branch(node, f"it depends on `{_line(self._text(left))}`")
        self._statement(left)
        self._piece(operator, "separator")
        if operator.type == "||":
            if self._text(right) in {"true", ":"}:
                return self._piece(right, "message")
            return self._branch(right, f"it runs only if `{_line(self._text(left))}` fails")
        return self._statement(right)

    def _is_here(self, test: "Node") -> bool:
        """Whether a test asks for a file that we can see: then what hangs on it happens."""
        expression = next((child for child in test.children if child.type == "unary_expression"), None)
        if test.type != "test_command" or expression is None or len(expression.children) != 2:  # noqa: PLR2004 (operator and file)
            return False
        operator, file = expression.children
        if self._text(operator) not in {"-f", "-e", "-r", "-s"}:
            return False
        name = plain(self._words.cook(file.start_byte, file.end_byte, value=True))
        return name is not None and self.read(name) is not None

    def _pipeline(self, node: "Node") -> None:
        parts = [child for child in node.children if child.is_named]
        before = self.state
        for at, part in enumerate(parts):
            self.state = before.copy()
            rest = parts[at + 1 :]
            piped = (Piece(self.source.place(rest[0].start_byte - 1, node.end_byte), "pipe"),) if rest else ()
            found = len(self.account.commands)
            around = replace(self._around, outputs=self._around.outputs + piped)
            self._within(around, self._statement, part)
            if len(self.account.commands) > found and rest:
                self.account.piece(self.source, part.end_byte, node.end_byte, "output")
                break
        self.state = before
        for child in node.children:
            if not child.is_named:
                self._piece(child, "separator")

    def _subshell(self, node: "Node") -> None:
        before = self.state
        self.state = before.copy()
        self._block(node.children)
        self.state = before

    def _function(self, node: "Node") -> None:
        name = node.child_by_field_name("name")
        body = node.child_by_field_name("body")
        if name is None or body is None:
            return self._leave(node, "the parser finds no function in it")
        self.state.functions[self._text(name)] = (self, body)
        return self._leave(node, f"the function {self._text(name)} is called nowhere")

    def _redirected(self, node: "Node") -> None:
        body = node.child_by_field_name("body")
        redirects = [child for child in node.children if child != body]
        if body is None:
            return self._leave(node, "a redirection without a command changes only where output goes")
        if body.type == "command":
            return self._command(body, redirects)
        outputs = tuple(self._output(redirect) for redirect in redirects)
        around = replace(self._around, outputs=self._around.outputs + outputs)
        return self._within(around, self._statement, body)

    def _output(self, node: "Node") -> Piece:
        end = self._first_target(node)
        self.account.piece(self.source, node.start_byte, end, "output")
        return Piece(self.source.place(node.start_byte, end), self.source.text(node.start_byte, end))

    @staticmethod
    def _first_target(node: "Node") -> int:
        """Where a redirection ends: the grammar counts the words behind its file to it as well."""
        if node.type != "file_redirect":
            return node.end_byte
        return next((child.end_byte for child in node.children_by_field_name("destination")), node.end_byte)

    # Variables.

    def _assignment(self, node: "Node", exported: bool = False, role: str = "assignment") -> None:
        found = self._assigned(node)
        if found is None:
            return self._leave(node, "the parser finds no assignment in it")
        name, variable = found
        self._set(name, replace(variable, exported=exported))
        return self._piece(node, f"{role} {name}")

    def _assigned(self, node: "Node") -> tuple[str, Variable] | None:
        target, operator = node.children[0], node.children[1]
        name = self._text(target).partition("[")[0]
        value = node.child_by_field_name("value")
        old = self.state.variables.get(name)
        place = self.source.place(operator.end_byte, max(node.end_byte, operator.end_byte))
        if value is not None and value.type == "array":
            words = self._words.split(value.start_byte + 1, value.end_byte - 1)
            items = tuple(bits for start, end in words for bits in self._words.fields(start, end))
            if operator.type == "+=" and old is None:
                items = ((self._unknown(name, node),), *items)
            return name, Variable((*(old.items if old and operator.type == "+=" else ()), *items), array=True, place=place)
        bits = self._words.cook(operator.end_byte, node.end_byte, value=True)
        if target.type == "subscript":
            return name, self._with_item(name, old, self._text(target), bits, node)
        if operator.type == "+=":
            before = old.items[0] if old and old.items else (self._unknown(name, node),) if old is None else ()
            bits = (*before, *bits)
        return name, Variable((bits,), place=place)

    def _with_item(self, name: str, old: Variable | None, target: str, bits: Bits, node: "Node") -> Variable:
        items = list(old.items) if old else []
        index = target.partition("[")[2].rstrip("]")
        if not index.isdigit() or int(index) > len(items):
            return Variable(((self._unknown(name, node),),), array=True)
        items[int(index) : int(index) + 1] = [bits]
        return Variable(tuple(items), array=True, place=self._place(node))

    def _unknown(self, name: str, node: "Node") -> Bit:
        return Bit(name, self.source, node.start_byte, node.end_byte, False, True, False, Sure.UNKNOWN, name)

    def _set(self, name: str, variable: Variable) -> None:
        old = self.state.variables.get(name)
        exported = (
            variable.exported or self.state.exports_all or name in _INHERITED or (old is not None and old.exported)
        )
        self.state.variables[name] = replace(variable, exported=exported)
        if name in self.state.removed:
            self.state.removed.remove(name)

    def _declaration(self, node: "Node") -> None:
        keyword, *rest = node.children
        options = "".join(self._text(child) for child in rest if self._text(child).startswith("-"))
        exports = (self._text(keyword) == "export" or "x" in options) and "n" not in options
        self._piece(keyword, "keyword")
        for child in rest:
            text = self._text(child)
            if child.type == "variable_assignment":
                self._assignment(child, exports, "export" if exports else "assignment")
            elif text.startswith("-"):
                self._piece(child, "option")
            else:
                self._declared(child, exports, "n" in options)

    def _declared(self, node: "Node", exports: bool, hides: bool) -> None:
        """`export X`, `export "X=y"`, `export $LIST`."""
        bits = self._words.cook(node.start_byte, node.end_byte, value=True)
        text = plain(bits)
        assigned = starting.ASSIGNMENT.match(text) if text is not None else None
        if text is None and bits and not bits[0].hole and (assigned := starting.ASSIGNMENT.match(bits[0].text)):
            bits = (bits[0].part(assigned.end(), len(bits[0].text)), *bits[1:])
        elif assigned:
            bits = _without(bits, assigned.end())
        elif text is None or not text.isidentifier():
            return self._leave(node, "which variable it exports is not known")
        name = assigned[1] if assigned else str(text)
        old = self.state.variables.get(name)
        if assigned:
            self._set(name, Variable((bits,), exported=exports, place=self._place(node)))
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
        inside = [child for child in node.children if child.type.endswith("_redirect")]
        outputs = tuple(self._output(child) for child in (*inside, *redirects))
        own = {child.type: child for child in node.children if child.type == "variable_assignment"}
        inline = [child for child in node.children if child.type == "variable_assignment"]
        name = node.child_by_field_name("name")
        if name is None:
            del own
            for child in inline:
                self._assignment(child)
            return None
        skip = [(child.start_byte, self._first_target(child)) for child in (*inside, *redirects)]
        end = max([node.end_byte, *(child.end_byte for child in redirects if child.type == "file_redirect")])
        ranges = list(self._words.split(name.start_byte, end, skip))
        bits = [(found, self.source.place(a, b)) for a, b in ranges for found in self._words.fields(a, b)]
        words = tuple(word(found, place) for found, place in bits)
        before = self.state
        if inline:
            self.state = before.copy()
            for child in inline:
                self._assignment(child, exported=True, role="variable")
        self._around = replace(self._around, outputs=self._around.outputs + outputs)
        whole = (node.start_byte, end)
        if not self._builtin(words, [found for found, _ in bits], node, before):
            self._start(words, [found for found, _ in bits], whole)
        if inline:
            over, before.over = self.state.over, before.over
            before.over = over
            self.state = before
        return None

    def _builtin(self, words: tuple[Word, ...], bits: list[Bits], node: "Node", before: State) -> bool:
        """Commands that change the shell itself; whether this was one."""
        name = words[0].text if words else ":"
        rest = words[1:]
        if name in self.state.functions and self._depth < _DEEPEST:
            self._piece(node, f"call of {name}")
            self._call(name, tuple(bits[1:]))
            return True
        known: dict[str, Callable[[tuple[Word, ...]], str]] = {
            "set": lambda given: self._set_options(given, bits[1:]),
            "cd": self._change_folder,
            "ulimit": self._limit,
            "exit": lambda given: self._end(node, "exit"),
            "return": lambda given: self._end(node, "return"),
            "shift": self._shift,
            "source": self._sourced,
            ".": self._sourced,
            **dict.fromkeys(_SAYS, lambda given: "message"),
        }
        if name == "exec" and not rest:
            self._piece(node, "output")
            return True
        if name not in known:
            return False
        role = known[name](rest)
        if role:
            self._piece(node, role)
        else:
            self._leave(node, f"what `{name}` reads or does here is not known")
        return True

    def _call(self, name: str, arguments: tuple[Bits, ...]) -> None:
        shell, body = self.state.functions[name]
        given, depth = self.state.arguments, shell._depth
        self.state.arguments = arguments
        shell.state, shell._around, shell._depth = self.state, self._around, self._depth + 1
        shell.account = self.account
        shell._statement(body)
        shell._depth = depth
        self.state.arguments = given
        if self.state.over.endswith("returns"):
            self.state.over = ""
        self.account.remainder[:] = [
            left for left in self.account.remainder if left.reason != f"the function {name} is called nowhere"
        ]

    def _end(self, node: "Node", how: str) -> str:
        self.state.over = f"it is not reached: line {node.start_point[0] + 1} {how}s"
        return how

    def _shift(self, words: tuple[Word, ...]) -> str:
        count = int(words[0].text) if words and words[0].text.isdigit() else 1
        if self.state.arguments is not None:
            self.state.arguments = self.state.arguments[count:]
        return "shift"

    def _set_options(self, words: tuple[Word, ...], bits: list[Bits]) -> str:
        texts = [found.text for found in words]
        for at, text in enumerate(texts):
            if text == "--":
                self.state.arguments = tuple(bits[at + 1 :])
                return "arguments"
            if text[:1] in {"-", "+"} and ("a" in text or (text[1:] == "o" and texts[at + 1 : at + 2] == ["allexport"])):
                self.state.exports_all = text[0] == "-"
        return "shell option"

    def _change_folder(self, words: tuple[Word, ...]) -> str:
        if len(words) != 1 or words[0].text == "-":
            return ""
        self.state.folder = words[0]
        return "folder"

    def _limit(self, words: tuple[Word, ...]) -> str:
        options = [found.text for found in words]
        pairs = list(zip(options[::2], words[1::2], strict=False))
        if len(options) % 2 or not all(option[:1] == "-" and option[-1] in _LIMITS for option, _ in pairs):
            return ""
        self.state.limits |= {_LIMITS[option[-1]]: value for option, value in pairs}
        return "limit"

    def _sourced(self, words: tuple[Word, ...]) -> str:
        if not words:
            return ""
        path = words[0].text
        for hole in words[0].needs:
            if hole.startswith("folder of"):
                path = path.replace(f"${{{hole}}}/", "")
        if path.endswith("/bin/activate"):
            self.state.venv = replace(words[0], text=path.removesuffix("/bin/activate"))
            return "virtual environment"
        text = None if "${" in path or self._depth >= _DEEPEST else self.read(path)
        if text is None:
            return ""
        self.account.files.append(path)
        shell = Shell(Source(path, text), self.account, self.state, self.read, self.folder, self._depth + 1)
        shell._around = self._around
        shell.follow()
        self.used |= shell.used
        self.state.over = "" if self.state.over.endswith("returns") else self.state.over
        return "sourced file"

    # What is started.

    def _start(self, words: "tuple[Word, ...]", bits: list[Bits], whole: tuple[int, int]) -> None:
        """An external command: the engine, something that starts it, or something that we do not know."""
        found = len(self.account.commands)
        peeled = starting.peeled(words)
        inner = bits[len(words) - len(peeled.rest) :]
        outer = self._outer or Here(self.source.place(*whole))
        here = replace(
            outer,
            place=self.source.place(*whole),
            prefixes=(*outer.prefixes, *peeled.prefixes),
            environment=self._environment(peeled),
        )
        before, self.state = self.state, self.state.copy()
        self.state.removed += peeled.removed
        entered = self._enter(peeled.rest, inner, here)
        self.state = before
        if not entered:
            return self.account.leave(self.source, *whole, self._unknown_command(words))
        self.account.piece(self.source, *whole, "engine" if len(self.account.commands) > found else "script")
        if any(prefix.name == "exec" for prefix in peeled.prefixes) and not self._around.background:
            line = self.source.place(*whole).line
            self.state.over = f"it is not reached: line {line} replaces the script by what it starts"
        return None

    def _environment(self, peeled: starting.Peeled) -> dict[str, Word]:
        """What a program gets here, without what the caller of the script has set."""
        exported = {
            name: word(found.items[0], found.place or self.source.place(0, 0))
            for name, found in self.state.variables.items()
            if found.exported and found.items
        }
        kept = {} if "*" in peeled.removed else {n: w for n, w in exported.items() if n not in peeled.removed}
        return kept | dict(peeled.environment)

    def _enter(self, words: "tuple[Word, ...]", bits: list[Bits], here: "Here") -> bool:
        """Record what `words` start; whether that is the engine or a script that we can follow."""
        if containers.starts_one(words):
            return self._enter_container(words, bits, here)
        entry = starting.entry(words)
        at = None if entry else starting.hidden_entry(words)
        if at is not None:
            entry = starting.entry(words[at:])
            for unknown in words[:at]:
                self.account.leave_word(unknown.text, unknown.used, "a program in front of the engine that we do not know")
        if entry is None and here.container and words[:1] and words[0].text.startswith("-"):
            entry = starting.Entry("image", (), words)
        if entry is None:
            return self._enter_script(words, bits, here)
        self.account.commands.append(
            Command(
                entry=entry.kind,
                lead=entry.lead,
                argv=entry.argv,
                place=here.place,
                environment=here.environment,
                removed=tuple(self.state.removed),
                prefixes=here.prefixes,
                outputs=self._around.outputs,
                background=self._around.background,
                folder=self.state.folder,
                venv=self.state.venv,
                limits=dict(self.state.limits),
                container=here.container,
                condition=self._around.condition,
            )
        )
        return True

    def _enter_container(self, words: "tuple[Word, ...]", bits: list[Bits], here: "Here") -> bool:
        found = containers.inside(words, here.environment, self.read)
        before, self.state = self.state, State(folder=None)
        inside = replace(here, environment=found.environment, container=found.container)
        peeled = starting.peeled(found.words)
        inside = replace(
            inside,
            prefixes=(*inside.prefixes, *peeled.prefixes),
            environment={**inside.environment, **peeled.environment},
        )
        self.state.removed += peeled.removed
        count = len(peeled.rest)
        own = bits[len(bits) - count :] if count <= len(bits) else []
        entered = self._enter(peeled.rest, own, inside)
        self.state = before
        return entered

    def _enter_script(self, words: "tuple[Word, ...]", bits: list[Bits], here: "Here") -> bool:
        """`bash -c '...'`, `bash serve.sh`, `./serve.sh`."""
        if not words or self._depth >= _DEEPEST or len(bits) != len(words):
            return False
        at = 0
        inline = False
        if starting.base(words[0]) in _SHELLS:
            at = 1
            while at < len(words) and words[at].text.startswith("-"):
                inline = inline or (not words[at].text.startswith("--") and "c" in words[at].text)
                at += 2 if words[at].text in {"-o", "-O"} else 1
        elif not words[0].text.endswith(".sh"):
            return False
        if at >= len(words) or words[at].needs:
            return False
        text = words[at].text if inline else self.read(words[at].text)
        if text is None:
            return False
        source = Inner(bits[at]) if inline else Source(words[at].text, text)
        variables = {name: _exported(found) for name, found in self.state.variables.items() if found.exported}
        variables |= {name: _variable(found) for name, found in here.environment.items() if name not in variables}
        state = State(
            variables={name: found for name, found in variables.items() if name in here.environment},
            arguments=tuple(bits[at + 1 + inline :]),
            removed=list(self.state.removed),
            limits=dict(self.state.limits),
            folder=self.state.folder,
            venv=self.state.venv,
        )
        if not inline:
            self.account.files.append(words[at].text)
        shell = Shell(source, self.account, state, self.read, self.folder, self._depth + 1)
        shell._around, shell._outer = self._around, here
        shell.follow()
        return True

    @staticmethod
    def _unknown_command(words: tuple[Word, ...]) -> str:
        name = words[0].text if words else ""
        if name.startswith("-"):
            return "bash runs this as a command of its own: a comment or a missing `\\` above ended the command"
        return f"what `{name}` does to the launch is not known"

    # Small words.

    def _text(self, node: "Node") -> str:
        return self.source.text(node.start_byte, node.end_byte)

    def _place(self, node: "Node") -> Place:
        return self.source.place(node.start_byte, node.end_byte)

    def _piece(self, node: "Node", role: str) -> None:
        self.account.piece(self.source, node.start_byte, node.end_byte, role)

    def _leave(self, node: "Node", reason: str) -> None:
        self.account.leave(self.source, node.start_byte, node.end_byte, reason)


def script(text: str, file: str, read: Read, known: Mapping[str, str] | None = None, folder: str = "") -> Imported:
    """Read the bash script `text`.

    `read` gives the files that it sources, `known` the variables that its caller sets, `folder` where it lies.
    """
    account = Account(files=[file])
    state = State(variables={name: _given(name, value) for name, value in (known or {}).items()})
    source = Source(file, text)
    shell = Shell(source, account, state, read, folder or str(PurePosixPath(file).parent))
    shell.follow()
    account.close()
    return Imported(
        file, "bash", tuple(account.commands), tuple(account.pieces), tuple(account.remainder), tuple(account.files)
    )


def _given(name: str, value: str) -> Variable:
    source = Source(f"--env {name}={value}", f"{name}={value}")
    start = len(name.encode()) + 1
    bit = Bit(value, source, start, len(source.data), quoted=True, sure=Sure.ASSIGNED)
    return Variable(((bit,),), place=source.place(start, len(source.data)))


def _exported(variable: Variable) -> Variable:
    return replace(variable, array=False, items=variable.items[:1])


def _variable(found: Word) -> Variable:
    """A variable whose value is the text of a word, with the place of the word."""
    if found.needs:
        source = Source(found.place.file, found.text)
        hole = Bit(found.text, source, 0, len(source.data), False, True, False, Sure.UNKNOWN, found.needs[0])
        return Variable(((hole,),), exported=True, place=found.place)
    source = Source(found.place.file, found.text)
    bit = Bit(found.text, source, 0, len(source.data), exact=False, quoted=True, sure=found.sure)
    return Variable(((bit,),), exported=True, place=found.place)


def _without(bits: Bits, characters: int) -> Bits:
    """The fragments without their first `characters` characters."""
    left: list[Bit] = []
    for bit in bits:
        cut = min(characters, len(bit.text))
        characters -= cut
        if cut < len(bit.text):
            left.append(bit.part(cut, len(bit.text)))
    return tuple(left)


def _line(text: str) -> str:
    first = text.split("\n")[0].strip()
    return first if len(first) <= 60 else f"{first[:57]}..."


@cache
def _parser() -> "Parser":
    import tree_sitter_bash
    from tree_sitter import Language, Parser

    return Parser(Language(tree_sitter_bash.language()))
