"""What a command line says once it is read as the engine's own parser reads it, and everything wrong with it."""

from collections.abc import Mapping
from typing import NamedTuple, TypeAlias

from dsv4deploy.model.flag import Flag, Life
from dsv4deploy.model.history import Foreign
from dsv4deploy.model.launch import Json


class Given(NamedTuple):
    """One flag as it was written.

    Attributes:
        spelling: as written (`--tp`), without its value.
        words: indices of the words that say it, value included.
    """

    flag: Flag
    spelling: str
    value: Json
    words: tuple[int, ...]


class UnknownFlag(NamedTuple):
    """A word that looks like a flag and that no known version has."""

    word: str
    words: tuple[int, ...]
    nearest: tuple[str, ...] = ()


class OtherVersionFlag(NamedTuple):
    """A flag that this version does not have, but another does."""

    word: str
    words: tuple[int, ...]
    life: Life


class ForeignFlag(NamedTuple):
    """A flag of another engine."""

    word: str
    words: tuple[int, ...]
    foreign: Foreign


class AmbiguousFlag(NamedTuple):
    """An abbreviation of more than one flag. `life` is that of the exact name in another version, if it had one."""

    word: str
    words: tuple[int, ...]
    candidates: tuple[str, ...]
    life: Life | None = None


class RefusedFlag(NamedTuple):
    """A flag that the parser still knows, only to refuse it with a message of its own."""

    flag: Flag
    words: tuple[int, ...]


class InvalidChoice(NamedTuple):
    """A value that is none of the flag's choices."""

    flag: Flag
    words: tuple[int, ...]
    value: Json
    nearest: tuple[str, ...] = ()


class WrongType(NamedTuple):
    """A word that cannot become what the flag needs; `wanted` says what that is."""

    flag: Flag
    words: tuple[int, ...]
    value: str
    wanted: str


class MissingValue(NamedTuple):
    """A flag that needs a value, and none follows."""

    flag: Flag
    words: tuple[int, ...]


class UnexpectedValue(NamedTuple):
    """A value behind a flag that takes none (`--trust-remote-code true`)."""

    flag: Flag
    words: tuple[int, ...]
    value: str


class StrayWord(NamedTuple):
    """A word that belongs to no flag."""

    word: str
    words: tuple[int, ...]


class HelpAsked(NamedTuple):
    """`--help`: the engine prints its flags and ends."""

    word: str
    words: tuple[int, ...]


class MissingFlag(NamedTuple):
    """A flag without which the parser refuses."""

    flag: Flag
    words: tuple[int, ...] = ()


ArgvError: TypeAlias = (
    UnknownFlag
    | OtherVersionFlag
    | ForeignFlag
    | AmbiguousFlag
    | RefusedFlag
    | InvalidChoice
    | WrongType
    | MissingValue
    | UnexpectedValue
    | StrayWord
    | HelpAsked
    | MissingFlag
)


class Parsed(NamedTuple):
    """A command line as the engine reads it.

    Attributes:
        given: by dest, the flag whose value counts: the last one written.
        shadowed: flags written before another of the same dest, whose values are lost.
        errors: in the order of the words; the engine itself stops at its first.
    """

    given: Mapping[str, Given]
    shadowed: tuple[Given, ...] = ()
    errors: tuple[ArgvError, ...] = ()

    @property
    def values(self) -> Mapping[str, Json]:
        """What was written, by dest."""
        return {dest: given.value for dest, given in self.given.items()}
