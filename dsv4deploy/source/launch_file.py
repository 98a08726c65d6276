"""Reads a launch file of any kind that we know: bash script or line, systemd unit, JSON words."""

import posixpath
from collections.abc import Mapping

from dsv4deploy.model.imported import Imported
from dsv4deploy.model.ports import Texts
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.argv_file import argv_file
from dsv4deploy.source.document import load
from dsv4deploy.source.script import script
from dsv4deploy.source.unit import unit


def imported(texts: Texts, path: str, known: Mapping[str, str] | None = None, folder: str = "") -> Imported:
    """What the launch file at `path` starts, and what of it is not understood.

    `known` are variables that its caller sets; `folder` is where the file lies on the node.

    Raises:
        Trouble: it cannot be read, or is no text.
    """
    data = texts.read(path)
    text = _text(data)
    if text is None:
        raise Trouble(f"{path} is no text in UTF-8", "name a launch script, a unit or a JSON file of words")
    beside = posixpath.dirname(path)

    def read(name: str) -> str | None:
        try:
            return _text(texts.read(posixpath.join(beside, name)))
        except Trouble:
            return None

    if path.endswith(".json") or text.lstrip()[:2] in {'["', "[\n", '{"', "{\n"}:
        return argv_file(load(data, path), read)
    if path.endswith(".service") or "\n[Service]" in f"\n{text}":
        return unit(text, path, read)
    return script(text, path, read, known, folder)


def _text(data: bytes) -> str | None:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return None
    return None if "\0" in text else text
