"""What one engine version accepts: its flags and environment variables, and their lives over all versions."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

from packaging.version import Version

from dsv4deploy.model.launch import Json

# What a word becomes: the names of SGLang's own conversions. `bool` is said by the flag's presence.
Type: TypeAlias = Literal[
    "str", "int", "float", "bool", "json", "json-list", "human-int", "nullable-str", "graph-config", "graph-backend"
]
Action: TypeAlias = Literal[
    "store", "store-true", "store-false", "store-const", "boolean-optional", "lora-paths", "ignore", "refuse"
]
Nargs: TypeAlias = Literal[0, "?", "*", "+"] | None


class Absent:
    """The default of a flag that leaves no trace when it is not written (argparse's SUPPRESS)."""

    def __repr__(self) -> str:
        return "ABSENT"


ABSENT = Absent()


class Flag(NamedTuple):
    """One argument of one engine version, as its parser defines it.

    Attributes:
        name: the canonical spelling, that of the dest where it is one of the names (`--tp-size`).
        aliases: every other spelling.
        dest: SGLang's own field (`tp_size`).
        type: what each word becomes.
        choices: the values allowed, after conversion; None if any is.
        default: the declared value; ABSENT if the field is left to another flag.
        nargs: how many words: None one, 0 none, `?` none or one, `*` any number, `+` at least one.
        action: what the parser does with them; `refuse` and `ignore` are what a removed flag does while it lingers.
        const: what `store-const` and a bare `?` store.
        required: whether the parser fails without it.
        deprecated: whether the parser itself calls it deprecated.
        successor: what the parser says to write instead (`--attn-dp-size <dp-size>`), or its refusal.
        keys: the keys that a `graph-config` may have, by phase.
        refuses: values that the conversion refuses by name.
        accepts: the values that the engine accepts once they are parsed, where its parser accepts any; None if unknown.
        least: the smallest number that can work, itself included; None if unknown.
        most: the largest one.
        holds_json: whether the engine reads its text as JSON later.
    """

    name: str
    dest: str
    aliases: tuple[str, ...] = ()
    type: Type = "str"
    choices: "tuple[Json, ...] | None" = None
    default: "Json | Absent" = None
    nargs: Nargs = None
    action: Action = "store"
    const: Json = None
    required: bool = False
    deprecated: bool = False
    successor: str | None = None
    keys: Mapping[str, tuple[str, ...]] | None = None
    refuses: tuple[str, ...] = ()
    accepts: tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    holds_json: bool = False

    def within(self, number: float) -> bool:
        """Whether `number` lies between `least` and `most`."""
        return (self.least is None or number >= self.least) and (self.most is None or number <= self.most)

    @property
    def limits(self) -> str:
        """`at least 1 and at most 65535`; empty if there are none."""
        limits = {"at least": self.least, "at most": self.most}
        return " and ".join(f"{word} {limit:g}" for word, limit in limits.items() if limit is not None)

    @property
    def names(self) -> tuple[str, ...]:
        """Every spelling that the parser accepts in full, the canonical one first."""
        names = (self.name, *self.aliases)
        if self.action != "boolean-optional":
            return names
        return (*names, *(f"--no-{name.removeprefix('--')}" for name in names))


class EnvVar(NamedTuple):
    """One environment variable that an engine version or a library below it reads.

    Attributes:
        type: bool, int, float, str, tuple (comma-separated), json, pairs (`key:value,...`), or words (of `choices`,
            comma-separated, in any case).
        default: what applies when it is unset; None also where it is computed.
        registered: whether the engine's own registry has it; if not, it is read in passing.
        replaced_by: the variable whose name replaces this one.
        note: what the engine says when it is set although deprecated.
        choices: the only values with a meaning; None if any has.
        owner: whose variable it is.
    """

    name: str
    type: str = "str"
    default: Json = None
    registered: bool = True
    deprecated: bool = False
    replaced_by: str | None = None
    note: str = ""
    choices: tuple[str, ...] | None = None
    owner: str = "SGLang"


@dataclass(frozen=True)
class Catalogue:
    """The flags and variables of one engine version, by canonical name."""

    version: str
    flags: Mapping[str, Flag]
    variables: Mapping[str, EnvVar]

    @cached_property
    def spellings(self) -> Mapping[str, Flag]:
        """Every full spelling, aliases and `--no-` forms too."""
        return {spelling: flag for flag in self.flags.values() for spelling in flag.names}

    @cached_property
    def _dests(self) -> Mapping[str, Flag]:
        owners: dict[str, Flag] = {}
        for flag in self.flags.values():
            owner = owners.get(flag.dest)
            if owner is None or _rank(flag) < _rank(owner):
                owners[flag.dest] = flag
        return owners

    def flag(self, name: str) -> Flag | None:
        """The flag with exactly this spelling."""
        return self.spellings.get(name)

    def by_dest(self, dest: str) -> Flag | None:
        """The flag to write for `dest`: a deprecated one only where no other has that dest, never one that does nothing."""
        flag = self._dests.get(dest)
        return None if flag is None or flag.action in {"ignore", "refuse"} else flag

    @cached_property
    def required(self) -> tuple[Flag, ...]:
        """The flags without which the parser fails."""
        return tuple(flag for flag in self.flags.values() if flag.required)

    @cached_property
    def defaults(self) -> Mapping[str, Json]:
        """What each dest is when nothing is written."""
        return {dest: flag.default for dest, flag in self._dests.items() if not isinstance(flag.default, Absent)}


def _rank(flag: Flag) -> tuple[bool, bool, bool]:
    own = flag.name == "--" + flag.dest.replace("_", "-")
    return (flag.deprecated or flag.action in {"ignore", "refuse"}, not own, isinstance(flag.default, Absent))


class Life(NamedTuple):
    """When a flag or variable existed, over all known versions.

    Attributes:
        name: the canonical name in the newest version that has it.
        spans: first and last version of each stretch without a gap, oldest first.
        last: the newest version that is known.
        deprecated: the first version that calls it deprecated.
        renamed_to: the names that replace it, the best first.
        renamed_from: the names that it replaces.
        note: a sentence about the change, where the names do not say everything.
        source: where the successor is known from; empty if the engine itself says it.
    """

    name: str
    spans: tuple[tuple[str, str], ...]
    last: str
    deprecated: str | None = None
    renamed_to: tuple[str, ...] = ()
    renamed_from: tuple[str, ...] = ()
    note: str = ""
    source: str = ""

    @property
    def since(self) -> str:
        """The first version that has it."""
        return self.spans[0][0]

    @property
    def until(self) -> str | None:
        """The last version that has it; None if the newest known one does."""
        until = self.spans[-1][1]
        return None if until == self.last else until

    def after(self, version: str) -> str | None:
        """The first version with it that is newer than `version`; None if there is none."""
        return next((since for since, _ in self.spans if Version(since) > Version(version)), None)

    def before(self, version: str) -> str | None:
        """The last version with it that is older than `version`; None if there is none."""
        return next((until for _, until in reversed(self.spans) if Version(until) < Version(version)), None)
