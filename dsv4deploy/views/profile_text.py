"""A drafted profile as YAML, each value with where it was found, and at the end what has no place in it."""

import re
from collections.abc import Iterator, Sequence

from dsv4deploy.model.place import Place
from dsv4deploy.node.scrub import scrubbed
from dsv4deploy.source.scalars import meaning
from dsv4deploy.stages.imported_fields import Entry
from dsv4deploy.stages.imported_profile import Draft

_PLAIN = re.compile(r"[A-Za-z0-9/._-][A-Za-z0-9/._@%+=-]*")
_AMBIGUOUS = {"yes", "no", "on", "off", "y", "n", "true", "false", "null", "~"}


def render(draft: Draft, file: str) -> str:
    """The text of the profile that was imported from `file`."""
    lines = [f"# Imported from {_comment(file)}."]
    lines += [f"# To fill in: {path}{f', {_comment(how)}' if how else ''}" for path, how in draft.missing.items()]
    lines.append("")
    open_: tuple[str | int, ...] = ()
    for entry in draft.entries:
        lines += _opened(open_, entry.path)
        open_ = entry.path[:-1]
        lines += _entry(entry, file)
    if draft.left:
        lines += ["", f"# Not carried over from {_comment(file)}; look at each:"]
        for left in draft.left:
            what = _short(scrubbed(left.text))
            lines.append(f"#   {_comment(str(left.place))}  {what}: {_comment(left.reason)}")
    return "\n".join(lines) + "\n"


def _opened(before: Sequence[str | int], path: Sequence[str | int]) -> Iterator[str]:
    inside = path[:-1]
    same = 0
    while same < min(len(before), len(inside)) and before[same] == inside[same]:
        same += 1
    for depth in range(same, len(inside)):
        yield f"{'  ' * depth}{_text(str(inside[depth]))}:"


def _entry(entry: Entry, file: str) -> Iterator[str]:
    indent = "  " * (len(entry.path) - 1)
    remark = _remark(entry, file)
    key = f"{indent}{_text(str(entry.path[-1]))}:"
    if isinstance(entry.value, dict):
        yield f"{key}{remark}"
        yield from (f"{indent}  {_text(name)}: {_value(value)}" for name, value in entry.value.items())
    else:
        yield f"{key} {_value(entry.value)}{remark}"


def _remark(entry: Entry, file: str) -> str:
    told = [_where(entry.place, file)] if entry.place else []
    told += [entry.remark] if entry.remark else []
    return f"  # {', '.join(told)}" if told else ""


def _where(place: Place, file: str) -> str:
    return f"line {place.line}" if place.file == file else _comment(f"{place.file}:{place.line}")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, int | float):
        text = repr(value)
        return text if meaning(text) == value else f'"{text}"'
    return _text(str(value))


def _text(text: str) -> str:
    """A YAML scalar that every reader takes for exactly this text."""
    if _PLAIN.fullmatch(text) and meaning(text) == text and text.lower() not in _AMBIGUOUS and text[0] not in "-.%=":
        return text
    return '"' + "".join(map(_character, text)) + '"'


def _character(character: str) -> str:
    if character in {'"', "\\"}:
        return f"\\{character}"
    if character.isprintable():
        return character
    code = ord(character)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"  # noqa: PLR2004 (the widths of YAML's escapes)


def _comment(text: str) -> str:
    return "".join(character if character.isprintable() else " " for character in text)


def _short(text: str) -> str:
    line = _comment(" ".join(text.split()))
    return line if len(line) <= 80 else f"{line[:77]}..."  # noqa: PLR2004 (a line of a terminal)
