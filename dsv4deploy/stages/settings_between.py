"""What differs between two profiles: one setting for each leaf, with the value that it has on the bad side."""

import json
from collections.abc import Iterator, Mapping, Sequence

from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.document import KeyPath, Merged, Tree, dotted
from dsv4deploy.model.launch import Launch

# Leaves that cannot decide whether a start fails, or that belong to the place and not to the configuration.
_IMMATERIAL = ("name", "server.port", "server.host", "service", "health", "waivers", "model.served_name")
_LIKELY = {Level.ERROR: 20.0, Level.WARNING: 5.0, Level.NOTE: 2.0}


def settings_between(good: Merged, bad: Merged) -> dict[str, str]:
    """Profile path to the `--set` text that gives it the value of the bad side; `null` where it has none."""
    mine, theirs = dict(_leaves(good.tree)), dict(_leaves(bad.tree))
    differing = sorted(path for path in mine.keys() | theirs.keys() if mine.get(path) != theirs.get(path))
    found = {}
    for path in differing:
        name = dotted(path)
        if not any(name == one or name.startswith(f"{one}.") for one in _IMMATERIAL):
            found[name] = f"{name}={json.dumps(theirs.get(path))}"
    return found


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


def _leaves(tree: Tree, above: KeyPath = ()) -> Iterator[tuple[KeyPath, Tree]]:
    """Every value that is no mapping; an empty mapping is none either."""
    if isinstance(tree, Mapping):
        for key, value in tree.items():
            yield from _leaves(value, (*above, key))
    else:
        yield above, tree
