"""What a launch file that somebody wrote by hand says: engine commands word by word, and what we did not understand."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dsv4deploy.model.place import Place


class Sure(StrEnum):
    """How we know the text of a word; the later member is the weaker one."""

    LITERAL = "literal"
    ASSIGNED = "assigned"
    """It comes from a variable that the same file sets."""
    DEFAULT = "default"
    """From `${X:-y}`: it holds unless the caller sets X."""
    PATTERN = "pattern"
    """It holds unless a file has a name that fits it (`[1,2]` unquoted)."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Word:
    """One word that reaches a program.

    Attributes:
        text: the word; what is unknown in it stands as `${NAME}`.
        place: where its text was written (for `--tp $TP`, the `4` of `TP=4`).
        used: where it stands in the command; equal to `place` if it was written there.
        needs: what would have to be known, by name (`HOME`, `$1`, `$(hostname)`).
        loose: an unknown that is not quoted, so that it can be no word, one, or several.
    """

    text: str
    place: Place
    used: Place
    sure: Sure = Sure.LITERAL
    needs: tuple[str, ...] = ()
    loose: bool = False

    @property
    def known(self) -> bool:
        """Whether `text` is what the program gets."""
        return not self.needs


@dataclass(frozen=True, slots=True)
class Piece:
    """A range of the file that we understood, and as what."""

    place: Place
    role: str


@dataclass(frozen=True, slots=True)
class Remainder:
    """A range of the file that we did not understand or that nothing of ours can express, and why.

    `variable` names one that is set and does not reach the engine.
    """

    text: str
    place: Place
    reason: str
    variable: str = ""


@dataclass(frozen=True, slots=True)
class Prefix:
    """A program that starts the engine for another one: `numactl --membind=0`, `nohup`, `sudo -u sglang`."""

    name: str
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True)
class Container:
    """The container that the engine runs in; options by their long name, in the order in which they stand."""

    runtime: str
    image: Word | None
    options: tuple[tuple[str, Word], ...] = ()

    def all(self, name: str) -> tuple[Word, ...]:
        """Every value that option `name` (without dashes) was given."""
        return tuple(word for option, word in self.options if option == name)


@dataclass(frozen=True, slots=True)
class Command:
    """One start of the engine.

    Attributes:
        entry: `module` (`python -m sglang.launch_server`), `file` (`python .../launch_server.py`), `serve` (`sglang serve`),
            `image` (arguments for the entry point of an image that we cannot see) or `arguments` (nothing but them).
        lead: the words up to the first argument (`python3 -u -m sglang.launch_server`).
        argv: the arguments.
        environment: what this file sets for it, by name.
        removed: variables that it takes away (`unset`, `env -u`); `*` stands for all that are inherited.
        outputs: redirections and pipes, as written.
        env_files: files elsewhere on the node that are sourced first, by absolute path.
        condition: what decides whether it runs at all; empty if it always does.
    """

    entry: str
    lead: tuple[Word, ...]
    argv: tuple[Word, ...]
    place: Place
    environment: Mapping[str, Word] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    prefixes: tuple[Prefix, ...] = ()
    outputs: tuple[Piece, ...] = ()
    background: bool = False
    folder: Word | None = None
    venv: Word | None = None
    limits: Mapping[str, Word] = field(default_factory=dict)
    env_files: tuple[Word, ...] = ()
    service: Mapping[str, Word] = field(default_factory=dict)
    container: Container | None = None
    condition: str = ""


@dataclass(frozen=True, slots=True)
class Imported:
    """A launch file, read: every character of it lies in a piece or in a remainder.

    `kind` is `bash`, `systemd`, `json` or `compose`; `sources` are the lines of every file read, the given one first.
    """

    file: str
    kind: str
    commands: tuple[Command, ...]
    pieces: tuple[Piece, ...] = ()
    remainder: tuple[Remainder, ...] = ()
    sources: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
