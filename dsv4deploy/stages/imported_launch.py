"""From an imported start to a launch: its arguments as the engine version reads them, each with its place in the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dsv4deploy.model.argv import ArgvError, Given, InvalidChoice, MissingFlag, Parsed, UnexpectedValue, WrongType
from dsv4deploy.model.diagnostic import Diagnostic, Level, Related
from dsv4deploy.model.flag import Catalogue
from dsv4deploy.model.history import History
from dsv4deploy.model.imported import Command, Imported, Remainder, Word
from dsv4deploy.model.launch import Launch, Setting, Variable
from dsv4deploy.model.place import Place
from dsv4deploy.model.trouble import Exit, Trouble
from dsv4deploy.source.argv import flag_at, limit, parse, spelled
from dsv4deploy.stages.launch import Lowered

# How a need is told that a branch of the file may fill.
_MAY_SET = ", which line "


def chosen(imported: Imported, number: int | None = None) -> Command:
    """The start that is meant: the only one, or the one with this number (from 1).

    Raises:
        Trouble: there is none, or there are several and no number.
    """
    commands = imported.commands
    if not commands:
        raise Trouble(f"{imported.file} starts no SGLang server that we can see", _left(imported))
    if number is not None and not 1 <= number <= len(commands):
        raise Trouble(f"there is no start {number}", f"choose 1 to {len(commands)}", Exit.USAGE)
    if number is None and len(commands) > 1:
        listed = "; ".join(f"{at}: {_headline(command)}" for at, command in enumerate(commands, start=1))
        raise Trouble(f"{imported.file} starts {len(commands)} servers", f"choose with --command: {listed}", Exit.USAGE)
    return commands[(number or 1) - 1]


def _left(imported: Imported) -> str:
    first = next(iter(imported.remainder), None)
    return f"not understood, for instance {first.place}: {first.reason}" if first else ""


def _headline(command: Command) -> str:
    when = f" ({command.condition})" if command.condition else ""
    return f"line {command.place.line}{when}"


def fitting(command: Command, history: History) -> str:
    """The newest version that has the fewest objections to the arguments: for a start whose version nobody knows."""
    counts = {
        version: len(arguments(command, history.at(version), suggest=False).parsed.errors)
        for version in history.versions
    }
    return min(reversed(history.versions), key=lambda version: counts[version])


def launch_of(command: Command, version: str | None, history: History, catalogue: Catalogue | None = None) -> Lowered:
    """What the start says to the engine `version`; unknown: to the newest version that objects least.

    Raises:
        UnknownVersionError: no such release is known, and no catalogue is given.
    """
    catalogue = catalogue or history.at(version or fitting(command, history))
    known = arguments(command, catalogue, history)
    parsed, settings = known.parsed, known.settings
    variables = {
        name: Variable(name, word.text, place=word.place) for name, word in command.environment.items() if word.known
    }
    told = [
        *(_unknown_value(word, flag) for word, flag in known.unknown),
        *(_unknown_value(word, name) for name, word in command.environment.items() if not word.known),
        *(_shadowed(given, settings[given.flag.dest], known.words) for given in parsed.shadowed),
        *(_abbreviated(given, known.words) for given in parsed.given.values() if _is_doubtful(given, history)),
        *(_elsewhere(word) for word in command.env_files),
    ]
    errors = [error for error in parsed.errors if not (isinstance(error, MissingFlag) and known.open_for(error))]
    place = command.place
    return Lowered(
        Launch(version, settings, variables, unsaid=_unsaid(known, command, catalogue), further=known.further),
        tuple(told),
        tuple((error, _place(error, known.words) or place) for error in errors),
        None if known.unknown else tuple(word.text for word in known.words),
    )


def _unsaid(known: "Arguments", command: Command, catalogue: Catalogue) -> dict[str, tuple[str, ...]]:
    """What is written and not known, by dest or `env:NAME`, with what would tell it."""
    flags = ((word, flag_at(name, catalogue)) for word, name in known.unknown if name)
    found = {flag.dest: _names(word) for word, flag in flags if flag}
    return found | {f"env:{name}": _names(word) for name, word in command.environment.items() if not word.known}


def remarks(imported: Imported, command: Command) -> tuple[Diagnostic, ...]:
    """What there is to say about a launch file beside its arguments: what is not understood, what never arrives."""
    conditional = (_conditional(command),) if command.condition else ()
    return (*conditional, *(_left_over(left) for left in imported.remainder))


def _left_over(left: Remainder) -> Diagnostic:
    if left.variable:
        return Diagnostic(
            "variable-does-not-arrive",
            Level.WARNING,
            f"{left.variable} is set, but the engine does not get it",
            (left.variable,),
            left.place,
            "set here",
            effect="the engine runs without it, unless whoever calls the file exports it",
            evidence=(f"enforced: {left.reason}",),
            remedy=f"pass it on: {left.reason.rpartition('takes ')[2]}"
            if "takes " in left.reason
            else f"export {left.variable}",
        )
    return Diagnostic(
        "not-understood",
        Level.NOTE,
        f"not judged: {left.reason}",
        (),
        left.place,
        effect="whatever it does to the launch is not seen here",
    )


def _conditional(command: Command) -> Diagnostic:
    return Diagnostic(
        "conditional-start",
        Level.NOTE,
        f"the server starts only under a condition: {command.condition}",
        (),
        command.place,
        "judged as if it starts",
        effect="variables that the condition sets are taken as not known",
    )


@dataclass(frozen=True, slots=True)
class Arguments:
    """The arguments of a start as the engine reads them.

    Attributes:
        words: those whose text is known; indices in `parsed` count them.
        unknown: those whose text is not, each with the flag that takes it (empty if none does).
        settings: what they say, by dest.
    """

    words: tuple[Word, ...]
    unknown: tuple[tuple[Word, str], ...]
    parsed: Parsed
    settings: Mapping[str, Setting]

    @property
    def further(self) -> tuple[str, ...]:
        """What would tell whether there are other arguments than those that stand there; nothing if all do."""
        words = (word for word, flag in self.unknown if not flag and not _of_the_caller(word))
        return tuple(dict.fromkeys(need for word in words for need in _names(word)))

    def open_for(self, error: MissingFlag) -> bool:
        """Whether the flag that seems to be missing may come from what is not known."""
        return any(word.loose or flag in error.flag.names or not flag for word, flag in self.unknown)


def arguments(
    command: Command, catalogue: Catalogue, history: History | None = None, *, suggest: bool = True
) -> Arguments:
    """Read the arguments of `command` as the engine of `catalogue` does."""
    words: list[Word] = []
    unknown: list[tuple[Word, str]] = []
    for word in _with_model_flag(command):
        if word.known:
            words.append(word)
            continue
        name = word.text.partition("=")[0] if word.text.startswith("--") and "=" in word.text else ""
        taker = None if name else _taker(words, catalogue)
        if taker is not None:
            # The flag goes with its value: alone it would be an error that nobody made.
            name = words[taker].text
            del words[taker:]
        unknown.append((word, name))
    parsed = parse([word.text for word in words], catalogue, history, suggest=suggest)
    settings = {dest: _setting(given, words) for dest, given in parsed.given.items()}
    return Arguments(tuple(words), tuple(unknown), parsed, settings)


def _taker(words: Sequence[Word], catalogue: Catalogue) -> int | None:
    """Where the flag stands that takes the next word as its value, or as one of its values; None if none does."""
    at = next((at for at in reversed(range(len(words))) if flag_at(words[at].text, catalogue)), None)
    flag = None if at is None else flag_at(words[at].text, catalogue)
    if at is None or flag is None:
        return None
    most = limit(flag)
    return at if most is None or len(words) - at - 1 < most else None


def _with_model_flag(command: Command) -> Sequence[Word]:
    """`sglang serve MODEL` names the model without a flag."""
    argv = command.argv
    if command.entry == "serve" and argv and not argv[0].text.startswith("-"):
        return (replace(argv[0], text="--model-path", needs=()), *argv)
    return argv


def _setting(given: Given, words: Sequence[Word]) -> Setting:
    place = words[given.words[-1]].place
    try:
        canonical = spelled(given.flag, given.value)
    except ValueError:
        # There is a way to write it, as we see, that no canonical one leads to.
        canonical = tuple(words[at].text for at in given.words)
    return Setting(given.flag.dest, given.value, given.flag.name, None, place, canonical)


def _place(error: ArgvError, words: Sequence[Word]) -> Place | None:
    """Where the wrong word stands: the value, where it is the value that is wrong."""
    if not error.words:
        return None
    about_value = isinstance(error, InvalidChoice | WrongType | UnexpectedValue)
    return words[error.words[-1 if about_value else 0]].place


def _unknown_value(word: Word, name: str) -> Diagnostic:
    need, called = word.needs[0], not name and _of_the_caller(word)
    return Diagnostic(
        "unknown-word",
        Level.NOTE,
        _not_known(word, name),
        (name,) if name else (),
        word.place,
        "not known",
        _used(word),
        effect="judged as if the file is called without arguments"
        if called
        else "what depends on it is unknown: no rule guesses a value",
        remedy=f"tell it: --env {need}=VALUE" if need.isidentifier() else "" if called else "write the value out",
    )


def _names(word: Word) -> tuple[str, ...]:
    """What a word needs, without where that may be set."""
    return tuple(need.partition(_MAY_SET)[0] for need in word.needs)


def _of_the_caller(word: Word) -> bool:
    """Whether it is what the file is called with, and that is nothing by itself."""
    return {*word.needs} <= {"$@", "$*"}


def _not_known(word: Word, name: str) -> str:
    needs = ", ".join(word.needs)
    if word.needs == (f"{name}, which line {word.place.line} may set",):
        return f"{name} is not known here: line {word.place.line} may set it"
    if any(_MAY_SET in need for need in word.needs):
        return f"{name or 'what further arguments say'} is not known here: it needs {needs}"
    what = f"{name} takes its value from" if name else "further arguments come from"
    return f"{what} {needs}, which this file does not set"


def _used(word: Word) -> tuple[Related, ...]:
    return (Related(word.used, "used here"),) if word.used != word.place else ()


def _shadowed(given: Given, winner: Setting, words: Sequence[Word]) -> Diagnostic:
    related = (Related(winner.place, "this one counts"),) if winner.place else ()
    return Diagnostic(
        "repeated-flag",
        Level.NOTE,
        f"{given.flag.name} is given twice, and the last one counts",
        (given.flag.name,),
        words[given.words[-1]].place,
        "has no effect",
        related,
        effect=f"the engine gets {winner.value}",
        evidence=("enforced: argparse keeps the last value",),
        remedy="remove the first one",
    )


def _is_doubtful(given: Given, history: History) -> bool:
    """Whether the flag is abbreviated, and the newest version would not take the abbreviation for one flag."""
    newest = history.at(history.versions[-1]).spellings
    if given.spelling in given.flag.names or given.spelling in newest:
        return False
    return len({flag.dest for spelling, flag in newest.items() if spelling.startswith(given.spelling)}) != 1


def _abbreviated(given: Given, words: Sequence[Word]) -> Diagnostic:
    return Diagnostic(
        "abbreviated-flag",
        Level.NOTE,
        f"{given.spelling} is read as {given.flag.name}",
        (given.flag.name,),
        words[given.words[0]].place,
        "abbreviated",
        effect="a newer engine version has several flags that start like this, or none, and refuses it",
        evidence=("enforced: argparse accepts a prefix only while it is unique",),
        remedy=f"write {given.flag.name}",
    )


def _elsewhere(word: Word) -> Diagnostic:
    return Diagnostic(
        "env-file-elsewhere",
        Level.NOTE,
        f"{word.text} is sourced first",
        (),
        word.place,
        "a file of the node",
        effect="what it sets there is not seen here unless the same file is here",
        remedy="validate where the file is, or put a copy beside the script",
    )
