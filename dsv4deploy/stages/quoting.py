"""One function for each language that we write: it takes a whole item and returns it quoted."""

import re

# Bare words need no quotes in any of the languages.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+-]+")
# A bare word of the shell's own grammar is allowed as an argument, but a reader stumbles over it.
_RESERVED = frozenset(
    [
        "case",
        "coproc",
        "do",
        "done",
        "elif",
        "else",
        "esac",
        "fi",
        "for",
        "function",
        "if",
        "in",
        "select",
        "then",
        "time",
        "until",
        "while",
    ]
)
# What single quotes hold without a second look, for bash and for a reader: printable ASCII without `'`, `$`, `` ` `` and `\`.
_SINGLE = re.compile(r"[ -#%&(-\[\]-_a-~]+")
# What must stand behind a backslash within double quotes of a unit file.
_QUOTABLE = re.compile(r'["\\]')
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def shell(word: str) -> str:
    r"""`word` as one word of bash, whatever it holds and whatever the locale is.

    A leading `~`, an empty word and everything that bash could expand end up in quotes. Bytes outside ASCII are
    written as escapes: bash reads `$'\xc3\xa9'` alike in every locale.
    """
    if _PLAIN.fullmatch(word) and not word.startswith(("~", "=")) and word not in _RESERVED:
        return word
    if _SINGLE.fullmatch(word):
        return f"'{word}'"
    return "$'" + "".join(_ESCAPES.get(character) or _ansi(character) for character in word) + "'"


def systemd(word: str) -> str:
    """`word` as one item of a unit setting that takes words: percent signs doubled, quoted where words would split.

    Source: systemd.syntax(7), and specifiers in systemd.unit(5).
    """
    text = systemd_rest(word)
    return text if _PLAIN.fullmatch(text) and ":" not in text else f'"{_QUOTABLE.sub(_backslashed, text)}"'


def systemd_rest(text: str) -> str:
    """`text` where a unit setting takes the rest of its line as it stands (`StandardOutput=append:PATH`)."""
    return text.replace("%", "%%")


def comment(text: str) -> str:
    """`text` as the rest of a comment line: one line, nothing that ends it."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def _ansi(character: str) -> str:
    if " " <= character <= "~":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _backslashed(found: re.Match[str]) -> str:
    return f"\\{found[0]}"
