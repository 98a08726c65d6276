"""Loading: bytes -> a tree with a place for every key and every value, or every reason why not."""

import re

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused
from dsv4deploy.model.document import Document, KeyPath, Tree
from dsv4deploy.model.place import Place
from dsv4deploy.source.nodes import FAST, Collection, Node, Reader, Scalar, compose

# A profile is a page; this is a hundred of them, and still read in a second by the slow reader.
MAX_BYTES = 256 * 1024

_BREAK = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
# Most profiles are ASCII, and the pattern of all characters takes long to compile.
_ASCII_CONTROL = "[^\t\n\r\x20-\x7e]"
_CONTROL = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]"
_OTHER_ENCODINGS = (
    (b"\xff\xfe", "UTF-16"),
    (b"\xfe\xff", "UTF-16"),
    (b"\x1f\x8b", "gzip"),
    (b"\x28\xb5\x2f\xfd", "zstd"),
)


def load(data: bytes, file: str, reader: Reader = FAST) -> Document:
    """The mapping written in `data`, whose places bear the name `file`; every `reader` reads the same.

    Raises:
        Refused: with everything that is wrong with it.
    """
    document = load_value(data, file, reader)
    if not isinstance(document.tree, dict):
        place = document.values[()]
        said = "nothing is written here" if document.tree is None else "the text is not a mapping at the top"
        raise _refused("yaml-shape", place, said, document.lines, "write `key: value` lines")
    return document


def load_value(data: bytes, file: str, reader: Reader = FAST) -> Document:
    """As `load`, but whatever value is written in `data`: the right side of `--set`, for instance.

    Raises:
        Refused: with everything that is wrong with it.
    """
    text = _text(data, file)
    lines = tuple(_BREAK.split(text))
    _check_characters(text, file, lines)
    root, diagnostics = compose(text, file, lines, reader)
    if diagnostics:
        raise Refused(diagnostics, {file: lines})
    builder = _Builder()
    tree = builder.build(root or Scalar(None, Place(file, 1, 1, 1, 1)), ())
    return Document(file, tree, builder.keys, builder.values, lines)


class _Builder:
    """Spells out aliases and merge keys, and notes where each key and value stands."""

    def __init__(self) -> None:
        self.keys: dict[KeyPath, Place] = {}
        self.values: dict[KeyPath, Place] = {}

    def build(self, node: Node, path: KeyPath) -> Tree:
        self.values[path] = node.place
        if isinstance(node, Scalar):
            return node.value
        if not node.is_mapping:
            return [self.build(child, (*path, index)) for index, child in enumerate(node.children)]
        tree: dict[str, Tree] = {}
        for key, (key_place, value) in _pairs(node).items():
            below = (*path, key)
            self.keys[below] = key_place
            tree[key] = self.build(value, below)
        return tree


def _pairs(node: Collection) -> dict[str, tuple[Place, Node]]:
    """The pairs of a mapping, merged ones first; its own keys win over those of `<<`, and earlier merges over later."""
    own: dict[str, tuple[Place, Node]] = {}
    merged: dict[str, tuple[Place, Node]] = {}
    for key, value in node.pairs:
        if not isinstance(key, Scalar):
            continue
        if key.merges and isinstance(value, Collection):
            for part in [value] if value.is_mapping else value.children:
                if isinstance(part, Collection):
                    merged = _pairs(part) | merged
        else:
            own[str(key.value)] = (key.place, value)
    return merged | own


def _text(data: bytes, file: str) -> str:
    start = Place(file, 1, 1, 1, 1)
    if len(data) > MAX_BYTES:
        size = f"{len(data) / 1024:,.0f} KiB; at most {MAX_BYTES // 1024} KiB can be read"
        raise _refused(
            "too-large", start, f"too large for a file written by hand: {size}", remedy="was another file meant?"
        )
    for mark, name in _OTHER_ENCODINGS:
        if data.startswith(mark):
            raise _refused("yaml-encoding", start, f"this is {name}, not UTF-8 text", remedy="save it as UTF-8 text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(data, file, error) from None


def _not_utf8(data: bytes, file: str, error: UnicodeDecodeError) -> Refused:
    # With a byte order mark, the decoder counts from behind it.
    body = data.removeprefix(b"\xef\xbb\xbf")
    before = _BREAK.split(body[: error.start].decode("utf-8", "replace"))
    place = Place(file, len(before), len(before[-1]) + 1, len(before), len(before[-1]) + 2)
    said = f"the byte 0x{body[error.start]:02x} is not UTF-8"
    lines = tuple(_BREAK.split(body.decode("utf-8", "replace")))
    return _refused("yaml-encoding", place, said, lines, "save the file as UTF-8")


def _check_characters(text: str, file: str, lines: tuple[str, ...]) -> None:
    if found := re.search(_ASCII_CONTROL if text.isascii() else _CONTROL, text):
        before = _BREAK.split(text[: found.start()])
        place = Place(file, len(before), len(before[-1]) + 1, len(before), len(before[-1]) + 2)
        said = f"an invisible character, U+{ord(found[0]):04X}, which YAML does not allow"
        raise _refused("yaml-text", place, said, lines, "remove it")


def _refused(rule: str, place: Place, message: str, lines: tuple[str, ...] = (), remedy: str = "") -> Refused:
    return Refused((Diagnostic(rule, Level.ERROR, message, place=place, remedy=remedy),), {place.file: lines})
