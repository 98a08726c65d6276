"""Turns what is wrong with argument words and the values behind them into diagnostics."""

from collections.abc import Iterable
from dataclasses import replace
from functools import singledispatch

from dsv4deploy.model.argv import (
    AmbiguousFlag,
    ArgvError,
    ForeignFlag,
    HelpAsked,
    InvalidChoice,
    MissingFlag,
    MissingValue,
    OtherVersionFlag,
    RefusedFlag,
    StrayWord,
    UnexpectedValue,
    UnknownFlag,
    WrongType,
)
from dsv4deploy.model.diagnostic import Diagnostic, Level
from dsv4deploy.model.flag import Catalogue, Flag, Life
from dsv4deploy.model.history import Foreign, History
from dsv4deploy.model.launch import Launch, Setting
from dsv4deploy.model.nearest import likely
from dsv4deploy.model.place import Place
from dsv4deploy.source.conversion import WANTED, is_json

DOES_NOT_START = "SGLang prints its usage and ends before it loads anything"
LONGEST_LIST = 12
FORK = (
    "remove it; the flags of a fork are read with: dsv4deploy flags extract VENV -o FILE, then engine.catalogue: FILE"
)


def flag_diagnostics(
    errors: Iterable[tuple[ArgvError, Place | None]], catalogue: Catalogue, history: History, *, fork: bool = False
) -> tuple[Diagnostic, ...]:
    """One diagnostic for each error of a command line, at the place given with it.

    On a `fork` whose own catalogue is not at hand, what a public fork is known to have is only worth a note.
    """
    return tuple(_told(error, place, catalogue, history, fork) for error, place in errors)


def _told(error: ArgvError, place: Place | None, catalogue: Catalogue, history: History, fork: bool) -> Diagnostic:
    known = (
        history.overlay.foreign.get(f"{error.flag.name}={error.value}") if isinstance(error, InvalidChoice) else None
    )
    if isinstance(error, OtherVersionFlag):
        told = other_version(error.word, error.life, catalogue, history)
    elif isinstance(error, AmbiguousFlag) and error.life is not None:
        told = other_version(error.word, error.life, catalogue, history)
        told = replace(told, effect=f"SGLang takes it for an abbreviation of {_listed(error.candidates)} and ends")
    elif isinstance(error, ForeignFlag):
        told = _foreign(error.word, error.foreign, catalogue)
    elif known is not None:
        told = replace(_foreign(known.name, known, catalogue), names=_diagnostic(error).names)
    else:
        told = _diagnostic(error)
    parser = f"enforced: the argument parser of SGLang {catalogue.version}"
    told = replace(told, place=place, effect=told.effect or DOES_NOT_START, evidence=(parser, *told.evidence))
    if fork and told.rule == "fork-flag":
        return replace(told, level=Level.NOTE, effect="only the fork that has it starts with it; the release ends")
    return told


def other_version(word: str, life: Life, catalogue: Catalogue, history: History) -> Diagnostic:
    """The diagnostic for a flag that another version has; without place."""
    since, until = life.after(catalogue.version), life.before(catalogue.version)
    instead = history.counterparts(life, catalogue)
    if until is not None:
        rule, message = (
            "removed-flag",
            f"SGLang {catalogue.version} no longer has {word}: the last version with it is {until}",
        )
    elif since is not None:
        rule, message = (
            "flag-not-yet",
            f"SGLang {catalogue.version} does not have {word} yet: the first version with it is {since}",
        )
    else:
        rule, message = "unknown-flag", f"SGLang {catalogue.version} has {word}, but not this build"
    return Diagnostic(
        rule,
        Level.ERROR,
        message,
        (word,),
        label=f"since {life.since}" + (f", until {life.until}" if life.until else ""),
        evidence=(f"successor: {life.source}",) if life.source and instead else (),
        remedy=_instead(instead, life.note) or f"remove it, or use SGLang {since or until}",
    )


def _instead(names: tuple[str, ...], note: str) -> str:
    if not names:
        return f"remove it: {note}" if note else ""
    return f"write {' or '.join(names)}" + (f" ({note})" if note else "")


def _foreign(word: str, foreign: Foreign, catalogue: Catalogue) -> Diagnostic:
    own_fork = foreign.engine.startswith("a fork")
    names = tuple(name for name in foreign.write if catalogue.flag(name.partition(" ")[0]))
    nothing = FORK if own_fork else "remove it: SGLang has no counterpart"
    return Diagnostic(
        "fork-flag" if own_fork else "foreign-flag",
        Level.ERROR,
        f"{word} is a {'choice' if '=' in word else 'flag'} of {foreign.engine}, not of SGLang {catalogue.version}",
        (word,),
        label=f"of {foreign.engine}",
        remedy=_instead(names[:3], foreign.note) or nothing,
    )


@singledispatch
def _diagnostic(error: ArgvError) -> Diagnostic:
    raise TypeError(error)


@_diagnostic.register
def _(error: UnknownFlag) -> Diagnostic:
    return Diagnostic(
        "unknown-flag",
        Level.ERROR,
        f"no SGLang release from 0.5.6 on has {error.word}",
        (error.word,),
        label="unknown",
        remedy=f"did you mean {' or '.join(error.nearest[:2])}?" if error.nearest else FORK,
    )


@_diagnostic.register
def _(error: AmbiguousFlag) -> Diagnostic:
    return Diagnostic(
        "ambiguous-flag",
        Level.ERROR,
        f"{error.word} is an abbreviation of {len(error.candidates)} flags",
        (error.word,),
        label="ambiguous",
        remedy=f"write one of {_listed(error.candidates)}",
    )


@_diagnostic.register
def _(error: RefusedFlag) -> Diagnostic:
    return Diagnostic(
        "removed-flag",
        Level.ERROR,
        f"this version refuses {error.flag.name}",
        (error.flag.name,),
        label="refused",
        remedy=error.flag.successor or "remove it",
    )


@_diagnostic.register
def _(error: InvalidChoice) -> Diagnostic:
    return _choice(error.flag, error.value, error.nearest, tuple(str(choice) for choice in error.flag.choices or ()))


def _choice(flag: Flag, value: object, meant: tuple[str, ...], choices: tuple[str, ...]) -> Diagnostic:
    guess = f"did you mean {meant[0]}? " if meant else ""
    return Diagnostic(
        "invalid-choice",
        Level.ERROR,
        f"{flag.name} cannot be {value}",
        (flag.name,),
        label="not one of its choices",
        remedy=f"{guess}choose one of: {', '.join(choices)}",
    )


@_diagnostic.register
def _(error: WrongType) -> Diagnostic:
    return Diagnostic(
        "wrong-type",
        Level.ERROR,
        f"{error.flag.name} cannot be {error.value!r}",
        (error.flag.name,),
        label=f"needs {error.wanted}",
        remedy=f"give it {error.wanted}",
    )


@_diagnostic.register
def _(error: MissingValue) -> Diagnostic:
    wanted = WANTED[error.flag.type]
    return Diagnostic(
        "missing-value",
        Level.ERROR,
        f"{error.flag.name} has no value",
        (error.flag.name,),
        label=f"needs {wanted}",
        remedy=f"give it {wanted}",
    )


@_diagnostic.register
def _(error: UnexpectedValue) -> Diagnostic:
    return Diagnostic(
        "unexpected-value",
        Level.ERROR,
        f"{error.flag.name} takes no value, and {error.value!r} follows it",
        (error.flag.name,),
        label="takes no value",
        remedy=f"write {error.flag.name} alone for yes, and leave it out for no",
    )


@_diagnostic.register
def _(error: StrayWord) -> Diagnostic:
    return Diagnostic(
        "stray-word",
        Level.ERROR,
        f"{error.word!r} belongs to no flag",
        (error.word,),
        label="belongs to no flag",
        remedy="remove it, or put the flag that it is meant for in front of it",
    )


@_diagnostic.register
def _(error: HelpAsked) -> Diagnostic:
    return Diagnostic(
        "help-asked",
        Level.ERROR,
        f"{error.word} asks for help instead of a server",
        (error.word,),
        effect="SGLang prints its flags and ends",
        remedy="remove it",
    )


@_diagnostic.register
def _(error: MissingFlag) -> Diagnostic:
    return Diagnostic(
        "missing-flag",
        Level.ERROR,
        f"{error.flag.name} is required and missing",
        (f"missing:{error.flag.name}",),
        remedy=f"add {error.flag.name}",
    )


def _listed(names: tuple[str, ...]) -> str:
    rest = len(names) - LONGEST_LIST
    return ", ".join(names[:LONGEST_LIST]) + (f" and {rest} more" if rest > 0 else "")


def setting_diagnostics(launch: Launch, catalogue: Catalogue) -> tuple[Diagnostic, ...]:
    """What the parser accepts and the engine then refuses or only tolerates: choices, numbers, deprecated names."""
    found = []
    for setting in launch.settings.values():
        flag = catalogue.flag(setting.flag)
        if flag is not None:
            found += [told for told in (_beyond(flag, setting), _outdated(flag, setting)) if told is not None]
    return tuple(found)


def _beyond(flag: Flag, setting: Setting) -> Diagnostic | None:
    value = setting.value
    if flag.accepts is not None and isinstance(value, str) and value.upper() not in flag.accepts:
        told = _choice(flag, value, likely(value.upper(), flag.accepts), flag.accepts)
        evidence = "enforced: the engine checks it after parsing; a plugin may bring more"
        return replace(told, place=setting.place, effect="SGLang ends before it loads anything", evidence=(evidence,))
    if flag.holds_json and isinstance(value, str) and not is_json(value):
        told = _diagnostic(WrongType(flag, (), value, "JSON"))
        evidence = "enforced: the engine reads it as JSON after parsing"
        return replace(told, place=setting.place, effect="SGLang ends while it starts", evidence=(evidence,))
    if not isinstance(value, int | float) or isinstance(value, bool) or flag.within(value):
        return None
    return Diagnostic(
        "value-out-of-range",
        Level.ERROR,
        f"{flag.name} cannot be {value}",
        (flag.name,),
        setting.place,
        f"must be {flag.limits}",
        effect="SGLang accepts the number and fails with it later",
        evidence=("inferred: the meaning of the number leaves no other range",),
        remedy=f"give it a number of {flag.limits}",
    )


def _outdated(flag: Flag, setting: Setting) -> Diagnostic | None:
    if not flag.deprecated:
        return None
    return Diagnostic(
        "deprecated-flag",
        Level.NOTE,
        f"{flag.name} is deprecated",
        (flag.name,),
        setting.place,
        "deprecated",
        effect="it still works in this version; a later one will refuse it",
        evidence=("enforced: the engine says so when it starts",),
        remedy=f"write {flag.successor}" if flag.successor else "remove it",
    )
