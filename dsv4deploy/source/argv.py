"""Reads argument words exactly as SGLang's parser (Python's argparse) does, and writes them.

Where argparse stops at its first error, this goes on, so that all errors are told at once.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dsv4deploy.model.argv import (
    AmbiguousFlag,
    ArgvError,
    ForeignFlag,
    Given,
    HelpAsked,
    InvalidChoice,
    MissingFlag,
    MissingValue,
    OtherVersionFlag,
    Parsed,
    RefusedFlag,
    StrayWord,
    UnexpectedValue,
    UnknownFlag,
    WrongType,
)
from dsv4deploy.model.flag import Absent, Catalogue, Flag
from dsv4deploy.model.history import History
from dsv4deploy.model.launch import Json
from dsv4deploy.model.nearest import likely
from dsv4deploy.source.conversion import WANTED, converted, word_of

NEGATIVE_NUMBER = re.compile(r"-\d+|-\d*\.\d+")
HELP = ("-h", "--help")
# Long names share many parts, so that less would name flags that have nothing to do with what was meant.
ALIKE = 0.75


def parse(
    words: Sequence[str], catalogue: Catalogue, history: History | None = None, *, suggest: bool = True
) -> Parsed:
    """What `words` (without the program) say to the engine version of `catalogue`.

    With `history`, a flag that only another version or another engine has is told as such. Without `suggest` no error
    names what may have been meant, which takes longer than all else.
    """
    reader = _Reader(tuple(words), catalogue, history, suggest)
    reader.read()
    missing = [MissingFlag(flag) for flag in catalogue.required if flag.dest not in reader.seen]
    errors = sorted(reader.errors, key=lambda error: error.words)
    return Parsed(reader.given, tuple(reader.shadowed), (*errors, *missing))


class _Option(NamedTuple):
    """A word that argparse takes for a flag: what it may mean, and the value behind its `=`."""

    spelling: str
    matches: tuple[str, ...]
    explicit: str | None


@dataclass(slots=True)
class _Reader:
    words: tuple[str, ...]
    catalogue: Catalogue
    history: History | None
    suggest: bool
    at: int = 0
    given: dict[str, Given] = field(default_factory=dict)
    shadowed: list[Given] = field(default_factory=list)
    errors: list[ArgvError] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)
    behind: Flag | None = None

    def read(self) -> None:
        options = self._options()
        while self.at < len(self.words):
            start = self.at
            option = options.get(start)
            self.at += 1
            if option is None:
                self._stray(start)
            else:
                values = self._following(options)
                self._option(option, start, values)

    def _options(self) -> dict[int, _Option]:
        options = {}
        for index, word in enumerate(self.words):
            if word == "--":
                break
            option = self._option_at(word)
            if option is not None:
                options[index] = option
        return options

    def _option_at(self, word: str) -> _Option | None:
        """What argparse takes `word` for; None if it is a value."""
        if not word.startswith("-") or word == "-":
            return None
        spellings = self.catalogue.spellings
        if word in spellings or word in HELP:
            return _Option(word, (word,), None)
        name, equals, value = word.partition("=")
        explicit = value if equals else None
        if name in spellings or name in HELP:
            return _Option(name, (name,), explicit)
        if word.startswith("--"):
            matches = tuple(spelling for spelling in (*HELP[1:], *spellings) if spelling.startswith(name))
        else:
            matches = HELP[:1] if word.startswith("-h") else ()
        if not matches and (NEGATIVE_NUMBER.fullmatch(word) or " " in word):
            return None
        return _Option(name, matches, explicit)

    def _following(self, options: dict[int, _Option]) -> list[int]:
        """The words between here and the next flag: what a flag with many values takes."""
        end = self.at
        while end < len(self.words) and end not in options and self.words[end] != "--":
            end += 1
        return list(range(self.at, end))

    def _stray(self, index: int) -> None:
        word = self.words[index]
        if self.behind is not None and word != "--":
            self.errors.append(UnexpectedValue(self.behind, (index - 1, index), word))
        else:
            self.errors.append(StrayWord(word, (index,)))
        self.behind = None

    def _option(self, option: _Option, start: int, values: list[int]) -> None:
        self.behind = None
        if len(option.matches) != 1:
            self.errors.append(self._unmatched(option, (start, *values)))
            self.at += len(values)
            return
        [spelling] = option.matches
        if spelling in HELP:
            self.errors.append(HelpAsked(option.spelling, (start,)))
            return
        flag = self.catalogue.spellings[spelling]
        self.seen.add(flag.dest)
        if option.explicit is None:
            taken = values[: limit(flag)]
            self._flag(flag, spelling, option.spelling, (start, *taken), [self.words[index] for index in taken])
            self.at += len(taken)
            self.behind = flag if flag.nargs == 0 else None
        elif flag.nargs == 0:
            self.errors.append(UnexpectedValue(flag, (start,), option.explicit))
        elif option.explicit == "--":
            # Up to Python 3.12 argparse drops these two dashes and stores an empty list instead of text.
            self.errors.append(MissingValue(flag, (start,)))
        else:
            self._flag(flag, spelling, option.spelling, (start,), [option.explicit])

    def _unmatched(self, option: _Option, words: tuple[int, ...]) -> ArgvError:
        name = option.spelling
        life = self.history.life(name) if self.history and name.startswith("--") else None
        foreign = self.history.overlay.foreign.get(name.replace("_", "-")) if self.history else None
        if foreign is not None and life is None:
            return ForeignFlag(name, words, foreign)
        if option.matches:
            return AmbiguousFlag(name, words, tuple(sorted(option.matches)), life)
        if life is not None:
            return OtherVersionFlag(name, words, life)
        meant = likely(name, self.catalogue.spellings, alike=ALIKE) if self.suggest else ()
        return UnknownFlag(name, words, meant)

    def _flag(self, flag: Flag, spelling: str, written: str, words: tuple[int, ...], values: list[str]) -> None:
        if flag.action == "refuse":
            self.errors.append(RefusedFlag(flag, words))
            return
        if not values and flag.nargs in {None, "+"}:
            self.errors.append(MissingValue(flag, words))
            return
        converted_values = self._converted(flag, words, values)
        if converted_values is None or flag.action == "ignore":
            return
        given = Given(flag, written, _stored(flag, spelling, converted_values), words)
        earlier = self.given.pop(flag.dest, None)
        if earlier is not None:
            self.shadowed.append(earlier)
        self.given[flag.dest] = given

    def _converted(self, flag: Flag, words: tuple[int, ...], values: list[str]) -> list[Json] | None:
        """The values, or None after an error has been told for each that is wrong."""
        places = words[1:] or words
        results: list[Json] = []
        for place, value in zip(places, values, strict=False):
            try:
                result = converted(flag, value)
            except ValueError as problem:
                self.errors.append(WrongType(flag, (words[0], place), value, str(problem)))
                continue
            if flag.choices is not None and result not in flag.choices:
                meant = likely(value, [str(choice) for choice in flag.choices]) if self.suggest else ()
                self.errors.append(InvalidChoice(flag, (words[0], place), result, meant))
                continue
            results.append(result)
        return results if len(results) == len(values) else None


def flag_at(word: str, catalogue: Catalogue) -> Flag | None:
    """The flag that `word` spells, in full or abbreviated, without a value behind `=`."""
    if word in catalogue.spellings:
        return catalogue.spellings[word]
    matches = [flag for spelling, flag in catalogue.spellings.items() if spelling.startswith(word)]
    return matches[0] if word.startswith("--") and len(matches) == 1 else None


def limit(flag: Flag) -> int | None:
    """How many words it takes at most; None: as many as there are."""
    return {0: 0, None: 1, "?": 1}.get(flag.nargs) if flag.nargs in {0, None, "?"} else None


def _stored(flag: Flag, spelling: str, values: list[Json]) -> Json:
    match flag.action:
        case "store-true":
            return True
        case "store-false":
            return False
        case "store-const":
            return flag.const
        case "boolean-optional":
            return not spelling.startswith("--no-")
        case _ if flag.nargs in {"*", "+"}:
            return tuple(values)
        case _:
            return values[0] if values else flag.const


def spelled(flag: Flag, value: Json) -> tuple[str, ...]:
    """The canonical words that make the engine store `value`; none where not writing the flag does that.

    Raises:
        ValueError: no words do; the message says what the flag needs.
    """
    # A one is no True, although Python finds them equal.
    left_out = (value is None or isinstance(value, bool)) and value is flag.default
    if left_out and flag.type != "nullable-str":
        return ()
    match flag.action:
        case "store-true" | "store-false" | "store-const":
            return _present(flag, value)
        case "boolean-optional" if isinstance(value, bool):
            return (flag.name if value else f"--no-{flag.name.removeprefix('--')}",)
        case "store" | "lora-paths" if flag.nargs in {"*", "+"}:
            return _many(flag, value)
        case "store" | "lora-paths":
            return _joined(flag, word_of(flag, value))
        case _:
            raise ValueError(WANTED[flag.type])


def _present(flag: Flag, value: Json) -> tuple[str, ...]:
    stored = _stored(flag, flag.name, [])
    if value != stored:
        raise ValueError(f"no value: writing it gives {stored}, leaving it out gives {_said(flag)}")
    return (flag.name, *(str(choice) for choice in (flag.choices or ())[:1])) if flag.nargs is None else (flag.name,)


def _said(flag: Flag) -> str:
    return "nothing" if isinstance(flag.default, Absent) else str(flag.default)


def _many(flag: Flag, value: Json) -> tuple[str, ...]:
    if not isinstance(value, tuple | list):
        raise ValueError(f"a list, each item {WANTED[flag.type]}")  # noqa: TRY004 (a value of the user, not of our code)
    words = [word_of(flag, each) for each in value]
    if len(words) == 1:
        return _joined(flag, words[0])
    if not words and flag.nargs == "+":
        raise ValueError("at least one value")
    for word in words:
        if word == "--" or (word.startswith("-") and word != "-" and not NEGATIVE_NUMBER.fullmatch(word)):
            raise ValueError(f"values that do not start with a dash, as {word} does, when there are several")
    return (flag.name, *words)


def _joined(flag: Flag, word: str) -> tuple[str, ...]:
    if word == "--":
        raise ValueError("a value other than two dashes, which the engine's parser drops")
    return (f"{flag.name}={word}",) if word.startswith("-") else (flag.name, word)
