"""What a name means, wherever in the house it is known: rules, marks, error classes, keys of the profile, flags."""

from pathlib import Path

from dsv4deploy.model.nearest import likely
from dsv4deploy.model.trouble import Exit, Trouble

_MARK = "mark:"
_FEW = 3


def explained(name: str, own: Path | None) -> str:
    """The page of `name`.

    Raises:
        Trouble: nothing in the house is called like that.
    """
    from dsv4deploy.source.rulebook import catalogue, rulebook

    if not name.strip():
        raise Trouble("no name to explain", "dsv4deploy explain NAME", Exit.USAGE)
    if name.startswith(_MARK):
        return _mark(name.removeprefix(_MARK))
    rules = {rule.id: rule for rule in (*catalogue(), *(rulebook(own) if own else ()))}
    if name in rules:
        from dsv4deploy.views.rules import rule_text

        return rule_text(rules[name])
    return _class(name) or _key(name) or _flag(name, [*rules])


def _mark(name: str) -> str:
    """A mark of the project in the current folder, as diagnostics cite it: `mark:oom-graph-flash-1a2b3c4d`."""
    from dsv4deploy.cli.house import the_mark
    from dsv4deploy.views.marks import page

    path, found = the_mark(Path(), name)
    return f"{page(found, str(path))}\n"


def _class(name: str) -> str | None:
    from dsv4deploy.model.error_class import ERROR_CLASSES
    from dsv4deploy.model.launch_error_class import LAUNCH_CLASSES, SCRIPT_CLASSES, TOLD_CLASSES
    from dsv4deploy.views.errors import text

    classes = {**ERROR_CLASSES, **LAUNCH_CLASSES, **SCRIPT_CLASSES, **TOLD_CLASSES}
    return text(classes[name]) if name in classes else None


def _key(name: str) -> str | None:
    """The key path of a profile, `cuda_graph.decode.max_bs`, or of a patch, `patch.fits.versions`."""
    from dsv4deploy.views.profile_reference import described

    return described(name)


def _flag(name: str, rules: list[str]) -> str:
    from dsv4deploy.flags import history
    from dsv4deploy.rim.catalogue_file import release
    from dsv4deploy.source.argv import flag_at
    from dsv4deploy.source.flag_search import found
    from dsv4deploy.views.flags import flag_page, flags_data

    known, chosen = history(), release("")
    short = flag_at(name, chosen)
    try:
        names = [short.name] if short else found(name, chosen, known)
    except Trouble:
        names = []
    if len(names) == 1:
        data = flags_data(names, chosen, known)
        return flag_page([*data["flags"], *data["variables"]][0], chosen.version)
    raise Trouble(f"nothing is called {name}", _instead(name, rules, len(names)), Exit.USAGE)


def _instead(name: str, rules: list[str], flags: int) -> str:
    """What a person may have meant who asked for a name that is none."""
    begun = [rule for rule in rules if rule.startswith(name)]
    if len(begun) > _FEW:
        return f"{len(begun)} rules begin like that: dsv4deploy rules {name}"
    close = [*begun, *likely(name, rules)]
    if close:
        return f"did you mean {' or '.join(dict.fromkeys(close))}?"
    if flags:
        return f"{flags} flags and variables have it in their names: dsv4deploy flags {name}"
    return "list with: dsv4deploy rules, dsv4deploy flags"
