"""The flags and variables of all known engine versions, merged; one version is unfolded when it is asked for."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, TypeAlias, TypeVar

from packaging.version import InvalidVersion, Version

from dsv4deploy.model.flag import ABSENT, Catalogue, EnvVar, Flag, Life

# (index of the first version, index of the last, what it is in between), ascending, without overlap.
Span: TypeAlias = Sequence[Any]
Merged: TypeAlias = Mapping[str, Sequence[Span]]
Thing = TypeVar("Thing", Flag, EnvVar)
# In stored form; JSON has no value of its own for it.
SUPPRESSED = "\x00absent"


class UnknownVersionError(KeyError):
    """The catalogue has no such version; `nearest` names the one before it, or the first."""

    def __init__(self, version: str, nearest: str, known: Sequence[str]) -> None:
        super().__init__(version)
        self.version = version
        self.nearest = nearest
        self.known = tuple(known)

    def __str__(self) -> str:
        first, last = self.known[0], self.known[-1]
        return f"SGLang {self.version} is not in the catalogue ({first} to {last}); nearest: {self.nearest}"


class Foreign(NamedTuple):
    """A spelling of another engine, and what to write for SGLang instead (nothing if there is no counterpart)."""

    name: str
    engine: str
    write: tuple[str, ...] = ()
    note: str = ""


class Meaning(NamedTuple):
    """What an important flag or variable does, in a sentence, and the unit of its value."""

    name: str
    text: str
    unit: str = ""


class Change(NamedTuple):
    """Knowledge about one name that no parser states: its successors, and why."""

    old: str
    new: tuple[str, ...]
    note: str = ""
    source: str = ""


class Restriction(NamedTuple):
    """What the engine checks after parsing: the values it accepts, or that it calls the flag deprecated.

    Holds for all versions from `since` to `until`; without them, for every one.
    """

    name: str
    since: str = ""
    until: str = ""
    choices: tuple[str, ...] | None = None
    least: float | None = None
    most: float | None = None
    holds_json: bool = False
    deprecated: str = ""
    source: str = ""

    def on(self, flag: Flag) -> Flag:
        """`flag` with this restriction."""
        return flag._replace(
            accepts=self.choices or flag.accepts,
            least=flag.least if self.least is None else self.least,
            most=flag.most if self.most is None else self.most,
            holds_json=flag.holds_json or self.holds_json,
            deprecated=flag.deprecated or bool(self.deprecated),
            successor=flag.successor or self.deprecated or None,
        )


@dataclass(frozen=True)
class Overlay:
    """What no wheel says; everything has its source in the file that it comes from."""

    changes: Mapping[str, Change] = field(default_factory=dict)
    restrictions: tuple[Restriction, ...] = ()
    foreign: Mapping[str, Foreign] = field(default_factory=dict)
    meanings: Mapping[str, Meaning] = field(default_factory=dict)
    libraries: Mapping[str, EnvVar] = field(default_factory=dict)
    # Prefixes of which `libraries` has every documented name, so that another name is a mistake.
    complete: tuple[str, ...] = ()


def stored(thing: Flag | EnvVar) -> dict[str, Any]:
    """`thing` as JSON has it: name left out, fields that have their usual value left out."""
    usual = {"name": thing.name, **thing._field_defaults}
    values = {name: value for name, value in thing._asdict().items() if name not in usual or value != usual[name]}
    return {name: SUPPRESSED if value is ABSENT else value for name, value in values.items()}


def unfolded(kind: type[Thing], name: str, record: Mapping[str, Any]) -> Thing:
    """The inverse of `stored`."""
    return kind(name=name, **{key: _frozen(key, value) for key, value in record.items()})


def _frozen(key: str, value: Any) -> Any:  # noqa: ANN401 (whatever JSON can hold)
    if isinstance(value, list):
        return tuple(_frozen("", each) for each in value)
    if key == "keys":
        return {phase: tuple(names) for phase, names in value.items()}
    return ABSENT if value == SUPPRESSED else value


@dataclass(frozen=True)
class History:
    """Every known version of the engine.

    Attributes:
        versions: oldest first.
        flags: canonical name to spans.
        variables: name to spans.
        overlay: what is known beside the wheels.
    """

    versions: tuple[str, ...]
    flags: Merged
    variables: Merged
    overlay: Overlay = field(default_factory=Overlay)
    _unfolded: dict[str, Catalogue] = field(default_factory=dict, compare=False, repr=False)

    def at(self, version: str) -> Catalogue:
        """The catalogue of exactly this version.

        Raises:
            UnknownVersionError: (a KeyError) no such release is known.
        """
        if version not in self._unfolded:
            index = self._index.get(version)
            if index is None:
                raise UnknownVersionError(version, self.nearest(version), self.versions)
            self._unfolded[version] = self.dressed(
                Catalogue(
                    version,
                    {flag.name: flag for flag in _at(Flag, self.flags, index)},
                    {variable.name: variable for variable in _at(EnvVar, self.variables, index)},
                )
            )
        return self._unfolded[version]

    def dressed(self, catalogue: Catalogue) -> Catalogue:
        """`catalogue` with what the overlay knows of its version; for a version of its own, of the nearest one."""
        index = self._index[self.nearest(catalogue.version)]
        flags = dict(catalogue.flags)
        for rule in self.overlay.restrictions:
            first = self._index[rule.since] if rule.since else 0
            last = self._index[rule.until] if rule.until else index
            if rule.name in flags and first <= index <= last:
                flags[rule.name] = rule.on(flags[rule.name])
        return Catalogue(catalogue.version, flags, {**self.overlay.libraries, **catalogue.variables})

    def nearest(self, version: str) -> str:
        """The newest known version that is not newer than `version`, the first one if all are."""
        try:
            wanted = Version(version)
        except InvalidVersion:
            return self.versions[-1]
        older = [known for known in self.versions if Version(known) <= wanted]
        return older[-1] if older else self.versions[0]

    @cached_property
    def _index(self) -> Mapping[str, int]:
        return {version: index for index, version in enumerate(self.versions)}

    @cached_property
    def _presence(self) -> Mapping[str, list[tuple[int, int, str, Mapping[str, Any]]]]:
        """Every spelling: from which version to which, under which canonical name, with which record."""
        presence: dict[str, list[tuple[int, int, str, Mapping[str, Any]]]] = {}
        for merged in (self.flags, self.variables):
            for name, spans in merged.items():
                for first, last, record in spans:
                    for spelling in (name, *record.get("aliases", ())):
                        presence.setdefault(spelling, []).append((first, last, name, record))
        return {spelling: sorted(spans, key=lambda span: span[:2]) for spelling, spans in presence.items()}

    @property
    def spellings(self) -> Iterable[str]:
        """Every spelling of every flag and every variable, in any version."""
        return self._presence.keys()

    def life(self, name: str) -> Life | None:
        """When a flag (any spelling) or variable existed; None if it never did."""
        spans = self._presence.get(name)
        if spans is None:
            return None
        canonical = spans[-1][2]
        deprecated = next((first for first, _, _, record in spans if record.get("deprecated")), None)
        change = self.overlay.changes.get(canonical)
        return Life(
            name=canonical,
            spans=self._joined([(first, last) for first, last, _, _ in spans]),
            last=self.versions[-1],
            deprecated=None if deprecated is None else self.versions[deprecated],
            renamed_to=self._successors(canonical),
            renamed_from=self._ancestors.get(canonical, ()),
            note=change.note if change else "",
            source=change.source if change else "",
        )

    def counterparts(self, life: Life, catalogue: Catalogue) -> tuple[str, ...]:
        """The names that `catalogue` has for what the flag or variable of `life` says in other versions.

        Any number of renamings lies between them; the likeliest name comes first.
        """
        found: list[str] = []
        for direction in ("renamed_to", "renamed_from"):
            queue = list(getattr(life, direction))
            while queue:
                name = queue.pop(0)
                if name in catalogue.spellings or name in catalogue.variables:
                    found.append(name)
                elif (other := self.life(name)) is not None:
                    queue += getattr(other, direction)
        return tuple(dict.fromkeys(found))

    def _joined(self, spans: Iterable[tuple[int, int]]) -> tuple[tuple[str, str], ...]:
        joined: list[tuple[int, int]] = []
        for first, last in spans:
            if joined and first <= joined[-1][1] + 1:
                joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
            else:
                joined.append((first, last))
        return tuple((self.versions[first], self.versions[last]) for first, last in joined)

    def _successors(self, name: str) -> tuple[str, ...]:
        change = self.overlay.changes.get(name)
        if change:
            return change.new
        said = [span[2].get("replaced_by") or span[2].get("successor") for span in self._spans(name)]
        known = [text for text in said if text and (text in self.flags or text in self.variables)]
        return (known[-1],) if known else ()

    def _spans(self, name: str) -> Sequence[Span]:
        return self.flags.get(name, self.variables.get(name, ()))

    @cached_property
    def _ancestors(self) -> Mapping[str, tuple[str, ...]]:
        ancestors: dict[str, tuple[str, ...]] = {}
        for old in (*self.flags, *self.variables):
            for new in self._successors(old):
                ancestors[new] = (*ancestors.get(new, ()), old)
        return ancestors


def _at(kind: type[Thing], merged: Merged, index: int) -> Iterator[Thing]:
    for name, spans in merged.items():
        for first, last, record in spans:
            if first <= index <= last:
                yield unfolded(kind, name, record)
                break


def merged(catalogues: Sequence[Catalogue]) -> tuple[Merged, Merged]:
    """Flags and variables of `catalogues` (oldest first) with the spans in which each was the same."""
    return (
        _merged([catalogue.flags for catalogue in catalogues]),
        _merged([catalogue.variables for catalogue in catalogues]),
    )


def _merged(versions: Sequence[Mapping[str, Flag | EnvVar]]) -> dict[str, list[list[Any]]]:
    spans: dict[str, list[list[Any]]] = {}
    for index, things in enumerate(versions):
        for name, thing in things.items():
            record = stored(thing)
            known = spans.setdefault(name, [])
            if known and known[-1][1] == index - 1 and known[-1][2] == record:
                known[-1][1] = index
            else:
                known.append([index, index, record])
    return dict(sorted(spans.items()))
