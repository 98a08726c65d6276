"""Reads a launch file of any kind that we know: bash script or line, systemd unit, Compose file, JSON words."""

import posixpath
from collections.abc import Mapping

from dsv4deploy.model.document import Document
from dsv4deploy.model.imported import Imported
from dsv4deploy.model.place import Place
from dsv4deploy.model.ports import Texts
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.argv_file import argv_file
from dsv4deploy.source.compose import compose, is_compose
from dsv4deploy.source.document import load
from dsv4deploy.source.script import script
from dsv4deploy.source.unit import unit


def imported(texts: Texts, path: str, known: Mapping[str, str] | None = None, folder: str = "") -> Imported:
    """What the launch file at `path` starts, and what of it is not understood.

    `known` are variables that its caller sets; `folder` is where the file lies on the node.

    Raises:
        Trouble: it cannot be read, is no text, or is nested more deeply than anybody writes by hand.
        Refused: YAML or JSON that cannot be loaded.
    """
    try:
        return _imported(texts, path, known, folder)
    except RecursionError:
        raise Trouble(f"{path} is nested too deeply to be followed", "name a file that a person wrote") from None


def _imported(texts: Texts, path: str, known: Mapping[str, str] | None, folder: str) -> Imported:
    data = texts.read(path)
    text = _text(data)
    if text is None:
        raise Trouble(f"{path} is no text in UTF-8", "name a launch script, a unit or a JSON file of words")
    beside = posixpath.dirname(path)

    def read(name: str) -> str | None:
        try:
            return _text(texts.read(posixpath.normpath(posixpath.join(beside, name))))
        except Trouble:
            return None

    if path.endswith(".json") or text.lstrip()[:2] in {'["', "[\n", '{"', "{\n"}:
        return argv_file(_document(data, path), read)
    if path.endswith(".service") or "\n[Service]" in f"\n{text}":
        return unit(text, path, read)
    if path.endswith((".yaml", ".yml")) or text.startswith("services:"):
        document = load(data, path)
        if is_compose(document.tree):
            return compose(document, read, known or {})
        if isinstance(document.tree, dict) and {"name", "engine", "model"} <= document.tree.keys():
            raise Trouble(f"{path} is a profile already", f"dsv4deploy validate {path}")
        raise Trouble(f"{path} has no services with an image", "name a Compose file, a script, a unit or JSON words")
    return script(text, path, read, known, folder)


def _document(data: bytes, path: str) -> Document:
    """A JSON text; a list of words as if it were the `argv` of a mapping."""
    if not data.lstrip().startswith(b"["):
        return load(data, path)
    # The loader wants a mapping at the top: it gets one that begins on a line before the text.
    wrapped = load(b'{"argv":\n' + data.rstrip() + b"}", path)
    keys = {at: _line_up(place) for at, place in wrapped.keys.items()}
    values = {at: _line_up(place) for at, place in wrapped.values.items()}
    return wrapped._replace(keys=keys, values=values, lines=wrapped.lines[1:])


def _line_up(place: Place) -> Place:
    return place._replace(line=max(place.line - 1, 1), end_line=max(place.end_line - 1, 1))


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
