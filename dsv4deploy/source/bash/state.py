"""What a shell knows at one point of a script, and what stands around a command."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from dsv4deploy.model.imported import Container, Piece, Prefix, Sure, Word
from dsv4deploy.model.place import Place
from dsv4deploy.source.bash.bits import Bit, Bits, Source, plain, word
from dsv4deploy.source.bash.parameters import Variable

if TYPE_CHECKING:
    from tree_sitter import Node

    from dsv4deploy.source.bash.shell import Shell

Read = Callable[[str], str | None]
"""The text of a file by its path (a relative one starts at the folder of the script); None if it is not there."""

# In practice every caller has these in the environment, so that an assignment reaches the engine without `export`.
INHERITED = {"HOME", "LANG", "LOGNAME", "PATH", "PWD", "SHELL", "TERM", "USER"}
# Far more fragments than the arguments of any engine have.
_MOST_BITS = 5_000


@dataclass(slots=True)
class State:
    """Variables, functions and settings of a shell; `arguments` is None where only the caller knows them.

    `hidden` are the variables of the same name outside a function's own (None: there was none); None outside functions.
    `over` says why nothing further is reached; empty while the script goes on.
    """

    variables: dict[str, Variable] = field(default_factory=dict)
    functions: "dict[str, tuple[Shell, Node]]" = field(default_factory=dict)
    arguments: tuple[Bits, ...] | None = None
    hidden: dict[str, Variable | None] | None = None
    removed: list[str] = field(default_factory=list)
    limits: dict[str, Word] = field(default_factory=dict)
    env_files: list[Word] = field(default_factory=list)
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
            hidden=None if self.hidden is None else dict(self.hidden),
            removed=list(self.removed),
            limits=dict(self.limits),
            env_files=list(self.env_files),
        )

    def set(self, name: str, variable: Variable) -> None:
        """Give `name` a value; it stays exported if it was, and one that doubles again and again is not followed."""
        if sum(len(bits) + 1 for bits in variable.items) > _MOST_BITS:
            first = next(bit for bits in variable.items for bit in bits)
            hole = f"{name}{'[@]' * variable.array}, which grows too long"
            bit = Bit.unknown(hole, first.source, first.start, first.end, text=f"${{{name}}}")
            variable = replace(variable, items=((bit,),))
        old = self.variables.get(name)
        exported = variable.exported or self.exports_all or name in INHERITED or (old is not None and old.exported)
        self.variables[name] = replace(variable, exported=exported)
        if name in self.removed:
            self.removed.remove(name)

    def hide(self, name: str) -> None:
        """Begin a variable that ends with the function we are in; it is exported if the outer one is."""
        if self.hidden is None or name in self.hidden:
            return
        old = self.hidden[name] = self.variables.get(name)
        self.variables[name] = Variable((), exported=old is not None and old.exported)

    def restore(self, before: Mapping[str, Variable | None]) -> None:
        """Give variables back what they were."""
        for name, variable in before.items():
            if variable is None:
                self.variables.pop(name, None)
            else:
                self.variables[name] = variable

    def exported(self) -> dict[str, Variable]:
        """The variables that a program started here gets; arrays never are among them."""
        return {n: found for n, found in self.variables.items() if found.exported and found.items and not found.array}


@dataclass(frozen=True, slots=True)
class Around:
    """What holds for every command in a part of a script."""

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


def given(name: str, value: str) -> Variable:
    """A variable that the user says the caller sets."""
    source = Source(f"--env {name}={value}", f"{name}={value}")
    start = len(name.encode()) + 1
    bit = Bit(value, source, start, len(source.data), quoted=True, sure=Sure.ASSIGNED)
    return Variable(((bit,),), exported=True, place=source.place(start, len(source.data)))


def unsure(name: str, source: Source, start: int, end: int, *, array: bool = False, exported: bool = False) -> Variable:
    """What `name` is after bytes `start` to `end`, which may have set it in a way that we do not follow."""
    place = source.place(start, end)
    hole = f"{name}{'[@]' * array}, which line {place.line} may set"
    bit = Bit.unknown(hole, source, start, end, text=f"${{{name}}}")
    return Variable(((bit,),), array, exported, place)


def longer(old: Variable | None, new: Variable, doubt: Variable) -> Variable:
    """What may have grown from `old` to `new`: its beginning is known, and what may follow is in `doubt`."""
    if old is None or not old.items or not new.items or old.array != new.array:
        return doubt
    if old.array:
        return replace(doubt, items=(*old.items, *doubt.items)) if new.items[: len(old.items)] == old.items else doubt
    before, after = plain(old.items[0]), "".join(bit.text for bit in new.items[0])
    if not before or not after.startswith(before):
        return doubt
    [hole] = doubt.items[0]
    blank = (
        Bit.made(after[len(before)], hole.source, hole.start, hole.start) if after[len(before) :][:1] == " " else None
    )
    return replace(doubt, items=((*old.items[0], *([blank] if blank else []), hole),))


def from_caller(variable: Variable) -> bool:
    """Whether `given` made it."""
    return variable.place is not None and variable.place.file.startswith("--env ")


def as_variable(found: Word) -> Variable:
    """A variable of the environment whose value is the text of a word, with the place of the word."""
    source = Source(found.place.file, found.text)
    if found.needs:
        bit = Bit.unknown(found.needs[0], source, 0, len(source.data))
    else:
        bit = replace(Bit.made(found.text, source, 0, len(source.data)), sure=found.sure)
    return Variable(((bit,),), exported=True, place=found.place)


def as_word(variable: Variable, elsewhere: Place) -> Word:
    """The value of an exported variable as a program gets it."""
    return word(variable.items[0], variable.place or elsewhere)
