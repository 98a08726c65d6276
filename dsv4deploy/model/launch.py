"""What is to be started: flags and environment of one engine process, whichever way they were written.

A profile, an imported script and a mark all become a `Launch`; effective settings, rules and rendering read it and
nothing else.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from dsv4deploy.model.place import Place

Json: TypeAlias = "bool | int | float | str | tuple[Json, ...] | Mapping[str, Json] | None"


class Setting(NamedTuple):
    """One value that somebody wrote for one argument of the engine.

    Attributes:
        dest: SGLang's own dest name (`cuda_graph_max_bs_decode`).
        value: as the engine's parser would store it: int, float, str, bool, None, a list as a tuple, JSON as a mapping.
        flag: canonical spelling in this engine version (`--cuda-graph-max-bs-decode`).
        path: key path in the profile (`cuda_graph.decode.max_bs`); None if it came from a bare command line.
        place: where it stands; None for what we add ourselves.
        words: the argument words that say it, canonical, ready for argv (`("--tp-size", "4")`).
    """

    dest: str
    value: Json
    flag: str
    path: str | None = None
    place: Place | None = None
    words: tuple[str, ...] = ()


class Variable(NamedTuple):
    """One environment variable that somebody set."""

    name: str
    value: str
    path: str | None = None
    place: Place | None = None


class Provided(NamedTuple):
    """A value that a patch or a build makes work although the stock engine would not (`provides` in the profile).

    Names a setting by dest or an environment variable; a variable without a value is read whatever it holds.
    """

    because: str
    setting: str | None = None
    env: str | None = None
    value: Json = None
    evidence: str = ""
    by: str = ""


class Laid(NamedTuple):
    """One patch that is laid over the engine.

    `files` are what it changes, from the package's name on; `place` is where the profile names it.
    """

    kind: str = ""
    digest: str = ""
    files: tuple[str, ...] = ()
    place: Place | None = None


@dataclass(frozen=True, slots=True)
class Launch:
    """One engine process: version, flags by dest, environment and patches by name.

    `version` is the SGLang release (`0.5.13.post1`) or None if unknown; `build` names a fork, image or commit.
    `unsaid` is what is written and cannot be read, by dest or `env:NAME`, with what would tell it (`TP`); `further` is
    what would tell whether any other argument is written.
    """

    version: str | None
    settings: Mapping[str, Setting] = field(default_factory=dict)
    environment: Mapping[str, Variable] = field(default_factory=dict)
    build: str | None = None
    provided: tuple[Provided, ...] = ()
    patches: Mapping[str, Laid] = field(default_factory=dict)
    unsaid: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    further: tuple[str, ...] = ()

    def patching(self, path: str) -> tuple[str, ...]:
        """The patches that change the file at `path`, or anything below it; `path` begins with the package's name."""
        below = f"{path}/"
        return tuple(
            name for name, laid in self.patches.items() if any(f"{file}/".startswith(below) for file in laid.files)
        )
