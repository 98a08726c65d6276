"""One function for each language that we write: it takes a whole item and returns it quoted."""

import re

# Bare words need no quotes in any of the languages.
_PLAIN = re.compile(r"[A-Za-z0-9_./:=,@%+-]+")
# What single quotes hold without a second look, for bash and for a reader: printable ASCII without `'`, `$`, `` ` `` and `\`.
_SINGLE = re.compile(r"[ -#%&(-\[\]-_a-~]+")
_ESCAPES = {"\\": "\\\\", "'": "\\'", "\n": "\\n", "\t": "\\t", "\r": "\\r"}


def shell(word: str) -> str:
    r"""`word` as one word of bash, whatever it holds and whatever the locale is.

    A leading `~`, an empty word and everything that bash could expand end up in quotes. Bytes outside ASCII are
    written as escapes: bash reads `$'\xc3\xa9'` alike in every locale.
    """
    if _PLAIN.fullmatch(word) and not word.startswith(("~", "=")):
        return word
    if _SINGLE.fullmatch(word):
        return f"'{word}'"
    return "$'" + "".join(_ESCAPES.get(character) or _ansi(character) for character in word) + "'"


def systemd(word: str) -> str:
    """`word` as one item of a unit file: percent signs doubled, quoted and escaped where systemd splits words.

    Source: systemd.syntax(7), systemd.unit(5), specifiers.
    """
    text = word.replace("%", "%%")
    if re.fullmatch(r"[A-Za-z0-9_./:=,@%+-]+", text):
        return text
    return '"' + "".join(_unit_escape(character) for character in text) + '"'


def systemd_bind(path: str) -> str:
    """`path` as a source of `BindReadOnlyPaths=`, where a colon would start the destination."""
    return systemd(path.replace("\\", "\\\\").replace(":", "\\:"))


def comment(text: str) -> str:
    """`text` as the rest of a comment line: one line, nothing that ends it."""
    return re.sub(r"[\x00-\x1f\x7f]+", " ", text)


def _ansi(character: str) -> str:
    if " " <= character <= "~":
        return character
    return "".join(f"\\x{byte:02x}" for byte in character.encode())


def _unit_escape(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character < " " or character == "\x7f":
        return f"\\x{ord(character):02x}"
    return character
