"""What differs between two profiles: a setting for each leaf, one for the engine as a whole, and one for each patch."""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.document import KeyPath, Merged, Tree, dotted
from dsv4deploy.model.launch import Launch

# Leaves that cannot decide whether a start fails, or that belong to the place and not to the configuration.
_IMMATERIAL = ("name", "server.port", "server.host", "service", "health", "waivers", "model.served_name")
_LIKELY = {Level.ERROR: 20.0, Level.WARNING: 5.0, Level.NOTE: 2.0}


# A version, its build and the venv that holds it are one: a mix of two is no engine.
_ENGINE = "engine"
_PATCHES = ("kernels", "patches")


@dataclass(frozen=True, slots=True)
class Between:
    """What differs between two profiles.

    Attributes:
        sets: name to the `--set` texts that give the value of the bad side (`null` where it has none); none for a patch.
        patches: those of either side, in the order of the bad one.
        good: patches of the good side.
        bad: patches of the bad side.
    """

    sets: Mapping[str, tuple[str, ...]]
    patches: tuple[str, ...] = ()
    good: tuple[str, ...] = ()
    bad: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """A name for each setting: its profile path, `engine`, or `patch NAME`."""
        return tuple(self.sets)

    def texts(self, mix: Collection[str]) -> tuple[str, ...]:
        """The `--set` texts that lay the settings of `mix` over the good side."""
        found = [text for name, texts in self.sets.items() if name in mix for text in texts]
        kept = [one for one in self.patches if one in (self.bad if _patch(one) in mix else self.good)]
        changed = any(_patch(one) in mix for one in self.patches)
        return (*found, *([f"{dotted(_PATCHES)}={json.dumps(kept)}"] if changed else []))

    def told(self, name: str) -> str:
        """A setting with its value on the bad side, for a person."""
        if texts := self.sets.get(name):
            return ", ".join(texts)
        patch = next((one for one in self.patches if _patch(one) == name), "")
        return f"{name} ({'there' if patch in self.bad else 'not there'})"


def settings_between(good: Merged, bad: Merged) -> Between:
    """Everything that differs and could decide whether a start fails."""
    mine, theirs = dict(_leaves(good.tree)), dict(_leaves(bad.tree))
    before, after = (_strings(side.pop(_PATCHES, None)) for side in (mine, theirs))
    found: dict[str, tuple[str, ...]] = {}
    for path in sorted(path for path in mine.keys() | theirs.keys() if mine.get(path) != theirs.get(path)):
        name = dotted(path)
        if not any(_is(name, one) for one in _IMMATERIAL):
            setting = _ENGINE if _is(name, _ENGINE) else name
            found[setting] = (*found.get(setting, ()), f"{name}={json.dumps(theirs.get(path))}")
    differing = set(before) ^ set(after)
    if not differing and before != after:
        found[dotted(_PATCHES)] = (f"{dotted(_PATCHES)}={json.dumps(after)}",)
    patches = (*after, *(one for one in before if one not in after))
    found |= {_patch(one): () for one in patches if one in differing}
    return Between(found, patches if differing else (), before, after)


def likely(names: Sequence[str], launch: Launch, diagnostics: Sequence[Diagnostic]) -> dict[str, float]:
    """How likely each setting is to be at fault, by what the rules say of the bad side; 1 where they say nothing."""
    subjects = {f"setting:{one.dest}": one.path for one in launch.settings.values()}
    subjects |= {f"env:{one.name}": one.path for one in launch.environment.values()}
    found = dict.fromkeys(names, 1.0)
    for one in diagnostics:
        for subject in one.names:
            path = subjects.get(subject) or subject.removeprefix("profile:")
            if path in found:
                found[path] = max(found[path], _LIKELY[one.level])
    return found


def refused_by_engine(diagnostics: Sequence[Diagnostic]) -> bool:
    """Whether the engine's own code would refuse such a start, so that launching it tells nothing."""
    return any(
        one.level is Level.ERROR and (not one.evidence or one.evidence[0].startswith("enforced")) for one in diagnostics
    )


def _is(name: str, above: str) -> bool:
    return name == above or name.startswith(f"{above}.")


def _patch(name: str) -> str:
    return f"patch {name}"


def _strings(tree: Tree) -> tuple[str, ...]:
    return tuple(str(one) for one in tree) if isinstance(tree, list) else ()


def _leaves(tree: Tree, above: KeyPath = ()) -> Iterator[tuple[KeyPath, Tree]]:
    """Every value that is no mapping; an empty mapping is none either."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _leaves(value, (*above, key))
    else:
        yield above, tree
