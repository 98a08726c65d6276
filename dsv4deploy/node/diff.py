"""Unified diffs, applied to the letter: every hunk where it says, or nothing at all.

`patch` guesses (fuzz, offsets, "previously applied") and its exit code says little; a kernel must not be guessed.
"""

from __future__ import annotations

import re
from itertools import takewhile
from typing import Iterator, NamedTuple

_HUNK = re.compile(rb"^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_ONLY = re.compile(rb"^Only in \S+: \S+$")
# A symbolic link or a submodule, which git shows as a text.
_LINK = re.compile(rb"^(new file mode|deleted file mode|index \S+) 1[26]0000$")
_UNSUPPORTED = (
    b"rename from",
    b"rename to",
    b"copy from",
    b"copy to",
    b"GIT binary patch",
    b"Binary files",
    b"old mode",
)


class DiffError(ValueError):
    """The diff cannot be read, or does not fit; `line` counts from 1 in the diff, 0 if it is about no line."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.line = line


class Hunk(NamedTuple):
    """One `@@` block: where the old lines begin (from 1), old and new lines with their ends, its line in the diff.

    `head` and `tail` count the lines of context at its ends.
    """

    start: int
    old: list[bytes]
    new: list[bytes]
    head: int
    tail: int
    line: int


class FileDiff(NamedTuple):
    """What happens to one file: `old` is None if it is made, `new` is None if it is removed."""

    old: str | None
    new: str | None
    hunks: list[Hunk]
    line: int

    @property
    def path(self) -> str:
        return self.new or self.old or ""


def parse(data: bytes) -> list[FileDiff]:
    """Every file of a unified diff, names as they stand there without `a/` and `b/`.

    Raises:
        DiffError: it is no such diff, is cut short, or renames, copies or changes something that is no text.
    """
    lines = data.split(b"\n")
    if lines and not lines[-1]:
        lines.pop()
    found: list[FileDiff] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        if line.startswith(_UNSUPPORTED) or _LINK.match(line):
            raise DiffError(f"cannot apply `{line.decode('utf-8', 'replace')}`: only changes of text are", at + 1)
        if _ONLY.match(line) or (line.startswith(b"diff -r") and not _names_at(lines, at + 1)):
            told = f"`{line.decode('utf-8', 'replace')}` does not say what is in the file"
            raise DiffError(f"{told}: make the diff with git, or name an empty file as an overlay", at + 1)
        if _names_at(lines, at):
            old, new = _name(line, at), _name(lines[at + 1], at + 1)
            hunks, after = _hunks(lines, at + 2)
            found.append(FileDiff(old, new, hunks, at + 1))
            at = after
        elif line.startswith(b"diff --git ") and _is_of_an_empty_file(lines, at):
            made, name = lines[at + 1].startswith(b"new"), _twice(line, at)
            found.append(FileDiff(None if made else name, name if made else None, [], at + 1))
            at += 1
        elif _HUNK.match(line):
            raise DiffError("a hunk without the names of its file before it", at + 1)
        else:
            at += 1
    if not found:
        raise DiffError("holds no unified diff")
    return found


def _names_at(lines: list[bytes], at: int) -> bool:
    """Whether the names of a file before and after stand there."""
    return [one[:4] for one in lines[at : at + 2]] == [b"--- ", b"+++ "]


def _is_of_an_empty_file(lines: list[bytes], at: int) -> bool:
    """Whether git tells there of an empty file that comes or goes, which it does without a hunk."""
    about = list(takewhile(lambda line: not line.startswith(b"diff "), lines[at + 1 :]))
    comes_or_goes = about[:1] != [] and about[0].startswith((b"new file mode", b"deleted file mode"))
    return comes_or_goes and not any(line.startswith((b"--- ", b"Binary files", b"GIT binary")) for line in about)


def _twice(line: bytes, at: int) -> str:
    """The name in `diff --git a/NAME b/NAME`."""
    both = line[len(b"diff --git ") :].rstrip(b"\r")
    half = len(both) // 2
    name = _name(b"--- " + both[:half], at)
    if name is None or name != _name(b"+++ " + both[half + 1 :], at):
        raise DiffError(f"cannot read the names in `{line.decode('utf-8', 'replace')}`", at + 1)
    return name


def below(path: str, package: str, line: int = 0) -> str:
    """`path` from the folder named `package` on: `python/sglang/srt/a.py` is `srt/a.py` of `sglang`.

    Raises:
        DiffError: it does not pass through that folder, or leaves it.
    """
    parts = path.split("/")
    if package not in parts[:-1] or path.startswith("/") or any(part in ("", ".", "..") for part in parts):
        raise DiffError(f"{path} is no file of the package {package}", line)
    return "/".join(parts[parts.index(package) + 1 :])


def apply(change: FileDiff, text: bytes | None, fuzz: int = 0) -> bytes | None:
    """What becomes of a file with the content `text` (None: there is none); None if it is removed.

    Without `fuzz` every hunk must stand exactly where it says. With it, a hunk may stand elsewhere, and as many lines
    at each of its ends may differ, if it then fits in one place alone.

    Raises:
        DiffError: it does not fit, with the line of the hunk in the diff.
    """
    if change.old is None and text is not None:
        raise DiffError(f"{change.path} is to be made, but is there already", change.line)
    if change.old is not None and text is None:
        raise DiffError(f"{change.path} is to be changed, but is not there", change.line)
    lines = _split(text or b"")
    out: list[bytes] = []
    at = 0
    for number, hunk in enumerate(change.hunks, 1):
        where = _where(hunk, lines, at, fuzz)
        if where is None:
            raise DiffError(_why_not(change, hunk, number, lines), hunk.line)
        begin, cut_head, cut_tail = where
        out += lines[at:begin]
        out += hunk.new[cut_head : len(hunk.new) - cut_tail]
        at = begin + len(hunk.old) - cut_head - cut_tail
    out += lines[at:]
    if change.new is None:
        if out:
            raise DiffError(f"{change.path} is to be removed, but holds more than the diff says", change.line)
        return None
    return b"".join(out)


def _split(text: bytes) -> list[bytes]:
    """Lines with their ends; only a line feed ends one."""
    lines = [line + b"\n" for line in text.split(b"\n")]
    last = lines.pop()[:-1]
    return [*lines, last] if last else lines


def _where(hunk: Hunk, lines: list[bytes], at: int, fuzz: int) -> tuple[int, int, int] | None:
    """Where the hunk begins, and how many lines of context are cut from its head and tail."""
    exact = max(hunk.start - 1, 0) if hunk.old else hunk.start
    if exact >= at and lines[exact : exact + len(hunk.old)] == hunk.old and exact <= len(lines):
        return exact, 0, 0
    if not fuzz or not hunk.old:
        return None
    for cut in range(fuzz + 1):
        head, tail = min(cut, hunk.head), min(cut, hunk.tail)
        wanted = hunk.old[head : len(hunk.old) - tail]
        places = [i for i in range(at, len(lines) - len(wanted) + 1) if lines[i : i + len(wanted)] == wanted]
        if wanted and len(places) == 1:
            return places[0], head, tail
    return None


def _why_not(change: FileDiff, hunk: Hunk, number: int, lines: list[bytes]) -> str:
    told = f"hunk {number} of {change.path} does not fit"
    begin = max(hunk.start - 1, 0)
    if lines[begin : begin + len(hunk.new)] == hunk.new and hunk.new != hunk.old:
        return f"{told}: the file is changed so already"
    for offset, wanted in enumerate(hunk.old):
        there = lines[begin + offset] if begin + offset < len(lines) else None
        if there != wanted:
            shown = "the end of the file" if there is None else repr(there.decode("utf-8", "replace"))
            return f"{told}: line {begin + offset + 1} is {shown}, expected {wanted.decode('utf-8', 'replace')!r}"
    return f"{told}: it overlaps the hunk before it"


def _name(line: bytes, at: int) -> str | None:
    name = line[4:].split(b"\t")[0].rstrip(b"\r").decode("utf-8", "replace")
    if name.startswith('"'):
        raise DiffError(f"cannot read the quoted name {name}", at + 1)
    if name == "/dev/null":
        return None
    return name[2:] if name.startswith(("a/", "b/")) else name


def _hunks(lines: list[bytes], at: int) -> tuple[list[Hunk], int]:
    found = []
    while at < len(lines):
        begin = _HUNK.match(lines[at])
        if not begin:
            break
        hunk, at = _hunk(lines, at, *(int(one) if one is not None else 1 for one in begin.groups()))
        found.append(hunk)
    if not found:
        raise DiffError("a file without a hunk", at)
    return found, at


def _hunk(lines: list[bytes], first: int, start: int, removed: int, _: int, added: int) -> tuple[Hunk, int]:
    old: list[bytes] = []
    new: list[bytes] = []
    signs = b""
    at = first + 1
    while len(old) < removed or len(new) < added or (at < len(lines) and lines[at].startswith(b"\\")):
        if at >= len(lines):
            raise DiffError("the diff ends inside a hunk", first + 1)
        sign, line = lines[at][:1] or b" ", lines[at][1:] + b"\n"
        if sign == b"\\":
            _without_newline(old, new, signs[-1:])
        elif sign in (b" ", b"-", b"+"):
            signs += sign
            old += [line] if sign != b"+" else []
            new += [line] if sign != b"-" else []
        else:
            raise DiffError("this line belongs to no hunk", at + 1)
        at += 1
    if (len(old), len(new)) != (removed, added):
        raise DiffError("the hunk holds another number of lines than it says", first + 1)
    head = len(signs) - len(signs.lstrip(b" "))
    tail = len(signs) - len(signs.rstrip(b" "))
    return Hunk(start, old, new, head, tail, first + 1), at


def _without_newline(old: list[bytes], new: list[bytes], sign: bytes) -> None:
    for lines, signs in ((old, b" -"), (new, b" +")):
        if sign and sign in signs and lines:
            lines[-1] = lines[-1][:-1]


def touched(changes: list[FileDiff], package: str) -> Iterator[tuple[FileDiff, str]]:
    """Each file that the diff changes, as a path inside `package`.

    Raises:
        DiffError: one of them is not in the package.
    """
    for change in changes:
        paths = {below(name, package, change.line) for name in (change.old, change.new) if name is not None}
        if len(paths) != 1:
            raise DiffError(f"renames {change.old} to {change.new}: only changes of text can be applied", change.line)
        yield change, paths.pop()
