"""From the words of a command to the engine that it starts: programs in front of it, interpreter, arguments."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from dsv4deploy.model.imported import Prefix, Word
from dsv4deploy.model.place import Place

Words = tuple[Word, ...]

ASSIGNMENT = re.compile(r"([A-Za-z_]\w*)=", re.ASCII)
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*")
_ENGINE_MODULES = {"sglang.launch_server"}
_SHIMMED = {*_ENGINE_MODULES, "sglang.cli.main:main"}
_PYTHON_WITH_VALUE = {"-X", "-W", "--check-hash-based-pycs"}


@dataclass(frozen=True, slots=True)
class _Form:
    """How a program that starts another one is called.

    Attributes:
        takes: options whose value is the next word.
        operands: words of its own before the other program.
        assigns: whether `X=y` among its words is a variable for the other program.
        speaks: whether what follows is a text for a shell, and not words.
        elsewhere: whether the other program runs where the environment of this one is not.
    """

    takes: frozenset[str] = frozenset()
    operands: int = 0
    assigns: bool = False
    speaks: bool = False
    elsewhere: bool = False


def _form(
    *takes: str, operands: int = 0, assigns: bool = False, speaks: bool = False, elsewhere: bool = False
) -> _Form:
    return _Form(frozenset(takes), operands, assigns, speaks, elsewhere)


# From the manual pages of util-linux, coreutils, numactl, sudo and of the package runners.
_PREFIXES: Mapping[str, _Form] = {
    "builtin": _form(),
    "chrt": _form("-T", "-P", "-D", operands=1),
    "command": _form(),
    "doas": _form("-u", "-C"),
    "dumb-init": _form("-r", "--rewrite"),
    "env": _form("-u", "--unset", "-C", "--chdir", assigns=True),
    "exec": _form("-a"),
    "gosu": _form(operands=1),
    "ionice": _form("-c", "--class", "-n", "--classdata"),
    "nice": _form("-n", "--adjustment"),
    "nohup": _form(),
    "numactl": _form(
        *("-i", "--interleave", "-N", "--cpunodebind", "-C", "--physcpubind", "-m", "--membind", "-p", "--preferred"),
    ),
    "screen": _form("-S", "-dmS", "-Sdm", "-t", "-c", "-h", "-L", "-Logfile"),
    "setsid": _form(),
    "ssh": _form(
        *("-b", "-c", "-D", "-E", "-e", "-F", "-I", "-i", "-J", "-L", "-l", "-m", "-O", "-o", "-p", "-Q", "-R", "-S"),
        *("-W", "-w"),
        operands=1,
        speaks=True,
        elsewhere=True,
    ),
    "stdbuf": _form("-i", "--input", "-o", "--output", "-e", "--error"),
    "sudo": _form(
        *("-u", "--user", "-g", "--group", "-h", "--host", "-p", "--prompt", "-C", "-D", "--chdir", "-R", "-T"),
        assigns=True,
    ),
    "taskset": _form(operands=1),
    "time": _form("-o", "--output", "-f", "--format"),
    "timeout": _form("-k", "--kill-after", "-s", "--signal", operands=1),
    "tini": _form("-p", "-e"),
    "unbuffer": _form(),
}
_RUNNERS: Mapping[tuple[str, str], _Form] = {
    ("conda", "run"): _form("-n", "--name", "-p", "--prefix", "--cwd"),
    ("mamba", "run"): _form("-n", "--name", "-p", "--prefix", "--cwd"),
    ("poetry", "run"): _form(),
    ("tmux", "new"): _form("-s", "-n", "-c", "-x", "-y", "-t", "-F", "-e", speaks=True),
    ("tmux", "new-session"): _form("-s", "-n", "-c", "-x", "-y", "-t", "-F", "-e", speaks=True),
    ("uv", "run"): _form("--python", "-p", "--with", "--project", "--directory", "--env-file", "--extra"),
}


@dataclass(frozen=True, slots=True)
class Peeled:
    """A command without the programs in front of it; `speaks` and `elsewhere` as the last of them has it."""

    rest: Words
    prefixes: tuple[Prefix, ...] = ()
    environment: Mapping[str, Word] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    speaks: bool = False
    elsewhere: bool = False


@dataclass(frozen=True, slots=True)
class Entry:
    """How the engine is entered, the words up to its first argument, and its arguments."""

    kind: str
    lead: Words
    argv: Words


def base(word: Word) -> str:
    """The program's name without its folder."""
    return word.text.rpartition("/")[2]


def tail(word: Word, start: int) -> Word:
    """The word without its first `start` characters, in its place where that is plain to see."""
    place = word.place
    if place.line == place.end_line and place.end_column - place.column == len(word.text):
        place = Place(place.file, place.line, place.column + start, place.end_line, place.end_column)
    return replace(word, text=word.text[start:], place=place)


def peeled(words: Words) -> Peeled:
    """Take the programs in front of a command off, one after the other."""
    prefixes: list[Prefix] = []
    environment: dict[str, Word] = {}
    removed: list[str] = []
    while words:
        name = base(words[0])
        form = _PREFIXES.get(name)
        skip = 1
        if form is None and len(words) > 1 and (runner := _RUNNERS.get((name, words[1].text))):
            form, skip, name = runner, 2, f"{name} {words[1].text}"
        if form is None:
            break
        end = _end_of_prefix(words, skip, form)
        if end >= len(words):
            break
        own = words[:end]
        prefixes.append(Prefix(name, own))
        if form.assigns:
            environment |= _assigned(own)
        if name == "env":
            removed += _removed(own)
        words = words[end:]
        if form.speaks:
            return Peeled(words, tuple(prefixes), environment, tuple(removed), form.speaks, form.elsewhere)
    return Peeled(words, tuple(prefixes), environment, tuple(removed))


def _end_of_prefix(words: Words, start: int, form: _Form) -> int:
    at, operands = start, form.operands
    while at < len(words):
        text = words[at].text
        if text == "--":
            return min(at + 1 + operands, len(words))
        if text.startswith("-") and len(text) > 1:
            at += 2 if text in form.takes else 1
        elif form.assigns and ASSIGNMENT.match(text):
            at += 1
        elif operands:
            at, operands = at + 1, operands - 1
        else:
            break
    return at


def _assigned(words: Words) -> dict[str, Word]:
    found = ((word, ASSIGNMENT.match(word.text)) for word in words[1:])
    return {match[1]: tail(word, match.end()) for word, match in found if match}


def _removed(words: Words) -> list[str]:
    found = []
    for at, word in enumerate(words):
        if word.text in {"-i", "-", "--ignore-environment"}:
            found.append("*")
        elif word.text in {"-u", "--unset"} and at + 1 < len(words):
            found.append(words[at + 1].text)
        elif word.text.startswith("--unset="):
            found.append(word.text.removeprefix("--unset="))
    return found


def entry(words: Words) -> Entry | None:
    """The engine that `words` start, or None if they start something else."""
    if len(words) > 1 and base(words[0]) == "sglang" and words[1].text == "serve":
        return Entry("serve", words[:2], words[2:])
    if not words or not (_PYTHON.fullmatch(base(words[0])) or words[0].needs):
        return None
    at = 1
    while at < len(words) and words[at].text.startswith("-") and not words[at].text.startswith(("-m", "-c")):
        at += 2 if words[at].text in _PYTHON_WITH_VALUE else 1
    found = words[at : at + 2]
    if len(found) > 1 and base(found[0]) == "entry.py" and found[1].text in _SHIMMED:
        return _shimmed(words, at + 1)
    if found and found[0].text.endswith("launch_server.py"):
        return Entry("file", words[: at + 1], words[at + 1 :])
    module = "".join(word.text for word in found) if found and found[0].text == "-m" else found and found[0].text
    if not module or module.removeprefix("-m") not in _ENGINE_MODULES:
        return None
    end = at + 2 if found[0].text == "-m" else at + 1
    return Entry("module", words[:end], words[end:])


def _shimmed(words: Words, at: int) -> Entry | None:
    """Our own shim in front of the engine's door at `at`, which reads keys from files: its options end at `--`."""
    end = next((index for index in range(at, len(words)) if words[index].text == "--"), None)
    if end is None:
        return None
    serve = words[end + 1 : end + 2] != () and words[end + 1].text == "serve"
    end += 2 if serve else 1
    return Entry("serve" if serve else "module", words[:end], words[end:])


def hidden_entry(words: Sequence[Word]) -> int | None:
    """Where, behind words that we do not know, the engine is started; None if it is not."""
    for at in range(1, len(words)):
        if entry(tuple(words[at:])) and not words[at].needs:
            return at
    return None
