"""Reads a systemd unit: what `ExecStart=` starts, word by word as systemd splits it, its environment, limits and user.

The rules are those of systemd.syntax(7), systemd.service(5), systemd.exec(5) and systemd.unit(5).
"""

import posixpath
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from dsv4deploy.model.imported import Imported, Sure, Word
from dsv4deploy.model.place import Place
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.bits import Source
from dsv4deploy.source.bash.state import Read
from dsv4deploy.source.started import enter_words
from dsv4deploy.source.starting import ASSIGNMENT, tail

_SECTION = re.compile(r"\[(\w+)]")
_QUOTES = {"'", '"'}
_ESCAPES = {"a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v", "s": " "}
_ESCAPE = re.compile(r"x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|([0-7]{3})|(.)", re.DOTALL)
_VARIABLE = re.compile(r"\$\$|\$\{([A-Za-z_]\w*)\}")
_FOLDERS = {"E": "/etc", "t": "/run", "S": "/var/lib", "C": "/var/cache", "L": "/var/log"}
_WORLD = ("Exec", "Environment", "PassEnvironment", "UnsetEnvironment")
_CARRIED = re.compile(
    r"User|Group|SupplementaryGroups|WorkingDirectory|Limit\w+|TasksMax|Restart(Sec)?|StartLimit\w+|"
    r"Timeout(Start|Stop)?Sec|Type|KillMode|KillSignal|Standard(Output|Error)|LogRateLimit\w+|SyslogIdentifier"
)
_LIMITS = {"LimitNOFILE": "nofile", "LimitMEMLOCK": "memlock", "LimitCORE": "core", "TasksMax": "tasks"}


@dataclass(frozen=True, slots=True)
class _Line:
    """One setting: its key, where its value begins and ends (offsets in the text), and where the line begins."""

    section: str
    key: str
    start: int
    end: int
    begin: int


@dataclass(slots=True)
class _Unit:
    """A unit while it is read."""

    file: str
    text: str
    read: Read
    account: Account
    environment: dict[str, Word] = field(default_factory=dict)
    from_files: dict[str, Word] = field(default_factory=dict)
    removed: list[str] = field(default_factory=list)
    starts: list[tuple[Word, ...]] = field(default_factory=list)
    service: dict[str, Word] = field(default_factory=dict)
    lines: list[int] = field(default_factory=list)

    def place(self, start: int, end: int) -> Place:
        """The place of the characters `start` to `end`."""
        self.lines = self.lines or [0, *(found.end() for found in re.finditer("\n", self.text))]
        lines = self.lines
        rows = [bisect_right(lines, at) for at in (start, end)]
        columns = [at - lines[row - 1] + 1 for at, row in zip((start, end), rows, strict=True)]
        return Place(self.file, rows[0], columns[0], rows[1], columns[1])


def unit(text: str, file: str, read: Read) -> Imported:
    """Read the unit `text`; `read` gives the files that it names."""
    account = Account(beside=posixpath.dirname(file))
    source = Source(file, text)
    account.opened(source)
    found = _Unit(file, text, read, account)
    ours = text.startswith("# Written by dsv4deploy")
    for line in _lines(text):
        role = _take(found, line)
        span = [len(text[:at].encode("utf-8", "surrogateescape")) for at in (line.begin, line.end)]
        if role or ours:
            account.piece(source, span[0], span[1], role or "rendered directive")
        else:
            account.leave(source, span[0], span[1], "no field of a profile says it: dsv4deploy writes the unit itself")
    environment = {**found.environment, **found.from_files}
    environment = {name: word for name, word in environment.items() if name not in found.removed}
    for words in found.starts:
        # In a rendered folder the script lies beside the unit; `current` is where it will be on the node.
        first = replace(words[0], text=words[0].text.rpartition("/current/")[2]) if ours else words[0]
        _start(found, (first, *words[1:]), environment)
    return account.imported(file, "systemd")


def _start(found: _Unit, words: tuple[Word, ...], environment: Mapping[str, Word]) -> None:
    before = len(found.account.commands)
    known = {name: word for name, word in found.service.items() if not name.startswith("Limit")}
    entered = enter_words(_expanded(words, environment), environment, found.account, found.read)
    if not entered:
        text = " ".join(word.text for word in words)
        found.account.leave_word(text, words[0].place, f"what `{words[0].text}` starts is not known")
    found.account.commands[before:] = [
        replace(
            command,
            service=known,
            limits={short: found.service[name] for name, short in _LIMITS.items() if name in found.service}
            | dict(command.limits),
            folder=command.folder or found.service.get("WorkingDirectory"),
            removed=(*found.removed, *command.removed),
        )
        for command in found.account.commands[before:]
    ]


def _lines(text: str) -> Iterator[_Line]:
    """Sections, settings and comments; a setting may go on behind a backslash, over comments."""
    section, at = "", 0
    while at < len(text):
        end = _end_of_line(text, at)
        line = text[at:end].strip()
        if line.startswith(("#", ";")) or not line:
            yield _Line("", "#", at, end, at)
        elif named := _SECTION.fullmatch(line):
            section = named[1]
            yield _Line("", "#", at, end, at)
        else:
            end = _end_of_setting(text, end)
            equals = text.find("=", at, end)
            start = end if equals < 0 else equals + 1
            yield _Line(section, text[at:equals].strip() if equals >= 0 else "", start, end, at)
        at = end + 1


def _end_of_setting(text: str, end: int) -> int:
    """Where a setting ends whose first line ends at `end`: comments may stand between the lines that it goes on in."""
    while text.endswith("\\", 0, end) and end < len(text):
        after = _end_of_line(text, end + 1)
        while text[end + 1 : after].lstrip().startswith(("#", ";")) and after < len(text):
            end, after = after, _end_of_line(text, after + 1)
        end = after
    return end


def _end_of_line(text: str, at: int) -> int:
    end = text.find("\n", at)
    return len(text) if end < 0 else end


def _take(found: _Unit, line: _Line) -> str:
    """Take one setting in, and say as what; nothing if there is no place for it."""
    if line.key == "#":
        return "comment"
    if line.section in {"Unit", "Install"}:
        return "order of units"
    words = tuple(_words(found, line.start, line.end))
    if line.key == "ExecStart":
        found.starts = [*found.starts, words] if words else []
        return "start"
    if line.key.startswith(_WORLD):
        return _environment(found, line.key, words)
    if line.section == "Service" and _CARRIED.fullmatch(line.key):
        value = found.text[line.start : line.end].strip()
        begin = line.start + len(found.text[line.start : line.end]) - len(found.text[line.start : line.end].lstrip())
        place = found.place(begin, begin + len(value))
        found.service[line.key] = Word(value, place, place)
        return "service setting"
    return ""


def _environment(found: _Unit, key: str, words: tuple[Word, ...]) -> str:
    if key == "Environment":
        if not words:
            found.environment.clear()
        for word in words:
            if name := ASSIGNMENT.match(word.text):
                found.environment[name[1]] = tail(word, name.end())
        return "environment"
    if key == "UnsetEnvironment":
        found.removed += [word.text for word in words]
        return "environment"
    if key == "PassEnvironment":
        found.environment |= {
            word.text: replace(word, text=f"${{{word.text}}}", sure=Sure.UNKNOWN, needs=(word.text,)) for word in words
        }
        return "environment"
    return _environment_file(found, words) if key == "EnvironmentFile" else ""


def _environment_file(found: _Unit, words: tuple[Word, ...]) -> str:
    if not words:
        found.from_files.clear()
        return "environment file"
    path = words[0].text.removeprefix("-")
    text = found.read(path)
    if text is None:
        return ""
    path = found.account.named(path)
    found.account.show(path, text)
    for at, line in enumerate(text.splitlines(), start=1):
        name, equals, value = line.strip().partition("=")
        if equals and not name.startswith(("#", ";")):
            start = line.index("=") + 2
            place = Place(path, at, start, at, start + len(value))
            text_ = (
                " ".join(word for word, _, _ in _split(value, 0, len(value))) if value[:1] in _QUOTES else value.strip()
            )
            found.from_files[name.strip()] = Word(text_, place, place)
    return "environment file"


def _words(found: _Unit, start: int, end: int) -> Iterator[Word]:
    for text, first, last in _split(found.text, start, end):
        place = found.place(first, last)
        yield _specified(Word(text, place, place), found.file)


def _split(text: str, start: int, end: int) -> Iterator[tuple[str, int, int]]:
    """The words between two offsets, unquoted, with where they stand."""
    begin, quote = -1, ""
    found: list[str] = []
    for character, at, literal in _characters(text, start, end):
        if not quote and not literal and character in " \t\n":
            if begin >= 0:
                yield "".join(found), begin, at
            begin, found = -1, []
            continue
        begin = at if begin < 0 else begin
        if not literal and (character == quote or (not quote and character in _QUOTES)):
            quote = "" if quote else character
        else:
            found.append(character)
    if begin >= 0:
        yield "".join(found), begin, end


def _characters(text: str, start: int, end: int) -> Iterator[tuple[str, int, bool]]:
    """Each character, where it stands, and whether an escape made it; a continued line goes on with a blank."""
    at = start
    while at < end:
        escape = _ESCAPE.match(text, at + 1) if text[at] == "\\" and at + 1 < end else None
        if escape is None:
            yield text[at], at, False
            at += 1
        elif escape[0] == "\n":
            yield " ", at, False
            at += 2
            while text[at:end].lstrip(" \t").startswith(("#", ";")):
                at = min(_end_of_line(text, at) + 1, end)
        else:
            yield _unescaped(escape), at, True
            at = escape.end()


def _unescaped(escape: re.Match[str]) -> str:
    hexadecimal, short, long, octal, other = escape.groups()
    if other:
        return _ESCAPES.get(other, other)
    return chr(int(hexadecimal or short or long or octal, 8 if octal else 16))


def _specified(word: Word, file: str) -> Word:
    """`%` specifiers; what only systemd knows stays unknown."""
    name = file.rpartition("/")[2]
    known = {
        "%": "%",
        "n": name,
        "N": name.rpartition(".")[0],
        "p": name.rpartition(".")[0].partition("@")[0],
        **_FOLDERS,
    }
    needs = tuple(f"%{letter}" for letter in re.findall(r"%(.)", word.text) if letter not in known)
    text = re.sub(r"%(.)", lambda found: known.get(found[1], found[0]), word.text)
    return replace(word, text=text, needs=needs, sure=Sure.UNKNOWN if needs else word.sure)


def _expanded(words: tuple[Word, ...], environment: Mapping[str, Word]) -> tuple[Word, ...]:
    """`${X}` inside words, and `$X` as a word of its own, which is split at blanks."""
    found: list[Word] = []
    first = words[0].text.lstrip("@-:+!") if words else ""
    for at, word in enumerate(words):
        if at == 0:
            found.append(tail(word, len(word.text) - len(first)))
        elif re.fullmatch(r"\$[A-Za-z_]\w*", word.text):
            value = environment.get(word.text[1:])
            if value is None:
                found.append(replace(word, needs=(word.text[1:],), sure=Sure.UNKNOWN, loose=True))
            else:
                parts = value.text.split()
                found += [replace(value, text=part, used=word.place, sure=Sure.ASSIGNED) for part in parts]
        else:
            found.append(_filled(word, environment))
    return tuple(found)


def _filled(word: Word, environment: Mapping[str, Word]) -> Word:
    names = [found[1] for found in _VARIABLE.finditer(word.text) if found[1]]
    needs = tuple(name for name in names if name not in environment or environment[name].needs)

    def value(found: re.Match[str]) -> str:
        if not found[1]:
            return "$"
        return environment[found[1]].text if found[1] in environment else found[0]

    text = _VARIABLE.sub(value, word.text)
    sure = Sure.UNKNOWN if needs or word.needs else Sure.ASSIGNED if names else word.sure
    return replace(word, text=text, needs=(*word.needs, *needs), sure=sure)
