"""Commands of bash that change the shell itself; each gives the role of what it read, or nothing if it did not."""

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias

from dsv4deploy.model.imported import Word
from dsv4deploy.source.bash.bits import NAME, Bit, Bits, Inner
from dsv4deploy.source.bash.state import unsure
from dsv4deploy.source.bash.words import OWN_FOLDER

if TYPE_CHECKING:
    from dsv4deploy.source.bash.shell import Shell

Given: TypeAlias = tuple[Word, ...]
Builtin: TypeAlias = "Callable[[Shell, Given, list[Bits]], str]"

_LIMITS = {
    "c": "core", "d": "data", "i": "sigpending", "l": "memlock", "m": "rss", "n": "nofile", "s": "stack",
    "u": "nproc", "v": "as",
}  # fmt: skip

# A name alone, or one that arithmetic assigns to.
SETS = re.compile(r"$|\s*(\+\+|--|([-+*/%&|^]|<<|>>)?=(?!=))")
_IN_KIB = set("cdlmsv")


def _says(_shell: "Shell", _words: Given, _bits: list[Bits]) -> str:
    return "message"


def _print(shell: "Shell", words: Given, bits: list[Bits]) -> str:
    into_variable = bool(words) and words[0].text == "-v"
    return _fill(shell, words[1:2], bits[1:2]) if into_variable else "message"


def _fill(shell: "Shell", words: Given, bits: list[Bits]) -> str:
    """`read X`, `getopts FLAGS X`, `let X=1`: what the variables hold afterwards is not known."""
    names = [NAME.match(word.text) for word in words]
    for name, own in zip(names, bits, strict=True):
        if name and own and SETS.match(name.string, name.end()):
            shell.state.set(name[0], unsure(name[0], own[0].source, own[0].start, own[-1].end))
    return ""


def _fill_array(shell: "Shell", words: Given, bits: list[Bits]) -> str:
    if words and NAME.fullmatch(words[-1].text):
        name, own = words[-1].text, bits[-1]
        shell.state.set(name, unsure(name, own[0].source, own[0].start, own[-1].end, array=True))
    return ""


def _set(shell: "Shell", words: Given, bits: list[Bits]) -> str:
    texts = [found.text for found in words]
    for at, text in enumerate(texts):
        if text == "--":
            shell.state.arguments = tuple(bits[at + 1 :])
            return "arguments"
        by_name = text[1:] == "o" and texts[at + 1 : at + 2] == ["allexport"]
        if text[:1] in {"-", "+"} and ("a" in text or by_name):
            shell.state.exports_all = text[0] == "-"
    return "shell option"


def _cd(shell: "Shell", words: Given, _bits: list[Bits]) -> str:
    words = words[1:] if words and words[0].text == "--" else words
    if len(words) != 1 or words[0].text == "-":
        return ""
    shell.state.folder = words[0]
    return "folder"


def _ulimit(shell: "Shell", words: Given, _bits: list[Bits]) -> str:
    options = [found.text for found in words[::2]]
    if len(words) % 2 or not all(option[:1] == "-" and option[-1] in _LIMITS for option in options):
        return ""
    for option, value in zip(options, words[1::2], strict=True):
        in_kib = option[-1] in _IN_KIB and value.text.isdigit()
        shell.state.limits[_LIMITS[option[-1]]] = replace(value, text=str(int(value.text) * 1024)) if in_kib else value
    return "limit"


def _exit(shell: "Shell", _words: Given, _bits: list[Bits]) -> str:
    shell.state.over = "it is not reached: the script exits before it"
    return "exit"


def _return(shell: "Shell", _words: Given, _bits: list[Bits]) -> str:
    shell.returned = True
    shell.state.over = "it is not reached: the function or file returns before it"
    return "return"


def _shift(shell: "Shell", words: Given, _bits: list[Bits]) -> str:
    count = int(words[0].text) if words and words[0].text.isdigit() else 1
    if shell.state.arguments is not None:
        shell.state.arguments = shell.state.arguments[count:]
    return "shift"


def _source(shell: "Shell", words: Given, bits: list[Bits]) -> str:
    if not words:
        return ""
    path = words[0].text
    if words[0].needs == (OWN_FOLDER,):
        path = "".join(bit.text for bit in bits[0] if not bit.hole).lstrip("/")
    elif not words[0].known:
        return ""
    if path.endswith("/bin/activate"):
        shell.state.venv = replace(words[0], text=path.removesuffix("/bin/activate"))
        return "virtual environment"
    if path.endswith("/profile.d/conda.sh"):
        return ""
    elsewhere = path.startswith("/") and not (shell.folder and path.startswith(f"{shell.folder}/"))
    if elsewhere:
        shell.state.env_files.append(words[0])
    if shell.source_file(path):
        return "sourced file"
    return "sourced file that is not here" if elsewhere else ""


def _eval(shell: "Shell", words: Given, bits: list[Bits]) -> str:
    if not words or not all(word.known for word in words):
        return ""
    blank = Bit.made(" ", bits[0][0].source, bits[0][0].start, bits[0][0].start)
    shell.follow_here(Inner([bit for one in bits for bit in (*one, blank)][:-1]))
    return "evaluated"


BUILTINS: Mapping[str, Builtin] = {
    **dict.fromkeys(("echo", ":", "true", "wait"), _says),
    **dict.fromkeys(("read", "getopts", "let"), _fill),
    **dict.fromkeys(("mapfile", "readarray"), _fill_array),
    ".": _source,
    "cd": _cd,
    "eval": _eval,
    "exit": _exit,
    "printf": _print,
    "return": _return,
    "set": _set,
    "shift": _shift,
    "source": _source,
    "ulimit": _ulimit,
}
