"""From the marks of the YAML readers to places, and from their complaints to words for people."""

import re
from typing import Any, NamedTuple, TypeAlias

import yaml

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related
from dsv4deploy.model.place import Place

Event: TypeAlias = Any  # one of yaml.events; which one, only its class says
Mark: TypeAlias = Any  # the mark of either reader, or None

_PROPERTY = re.compile(r"[ \t]*(?:[&!]\S*)?[ \t]*(?:#.*)?")
_TAGS = ("tag", "URI", "codec", "expected '!'", "expected ' '", "expected '>'")
# A sign in what the reader says, what a person should read, and what to do; the first sign that is found holds.
_COMPLAINTS = (
    (r"character '\t'", "a tab cannot indent or begin a value", "use spaces"),
    ("cannot start any token", "a value cannot begin with this character", "quote the value"),
    ("mapping values are not allowed", "a `:` where no key can end", "quote the value that holds it, or align the key"),
    ("could not find expected ':'", "this line is no `key: value`", "add the `:`, or indent what belongs to the line above"),
    ("end of stream", "the text ends inside a quoted value", "add the closing quote"),
    ("document separator", "a `---` or `...` inside a quoted value", "add the closing quote, or indent the line"),
    ("<block end>, but found '<scalar>'", "text after a value that has ended", "quote the whole value, or align the key"),
    ("expected <block end>", "this does not line up with the lines above", "align it with the key or item it stands beside"),
    ("expected '<document start>'", "this does not belong to what stands above", "align it with the first key"),
    ("expected ',' or ']'", "a list in brackets is not closed", "add the `,` or `]`"),
    ("expected ',' or '}'", "a mapping in braces is not closed", "add the `,` or `}`"),
    ("found '<stream end>'", "the text ends where a value is expected", "close the bracket or brace that is open"),
    ("expected the node content", "a value is missing here", "write or quote it"),
    ("escape", "no such escape exists between double quotes", r"write \\ for a backslash, or use single quotes"),
    ("sequence entries are not allowed", "a list item cannot begin here", "put it on a line of its own"),
    ("expected alphabetic or numeric", "& and * begin the name of an anchor, and this is none", "quote the value"),
    ("indentation indicator", "| and > stand alone on their line, the text below them", "quote the value, or begin a new line"),
    ("expected a comment or a line break", "| and > stand alone on their line, the text below them", "quote the value, or begin a new line"),
    ("mapping keys are not allowed", "a `? ` that begins no value here", "quote the value"),
    *((sign, "`!` begins a tag, which means nothing here", "quote the value") for sign in _TAGS),
    ("YAML document", "only YAML 1 can be read", "remove the `%YAML` line"),
    ("directive", "a line that begins with % is a directive", "remove it, or quote the value"),
)  # fmt: skip


class Marks(NamedTuple):
    """Places in one text; the readers count lines and columns from 0, a person from 1."""

    file: str
    lines: tuple[str, ...]

    def place(self, event: Event) -> Place:
        """All that belongs to `event`, an anchor and a tag included."""
        start, end = event.start_mark, event.end_mark
        return Place(self.file, start.line + 1, start.column + 1, end.line + 1, end.column + 1)

    def point(self, mark: Mark) -> Place:
        """Where `mark` is; the beginning of the text if there is none."""
        line, column = (min(mark.line, len(self.lines) - 1), mark.column) if mark else (0, 0)
        return Place(self.file, line + 1, column + 1, line + 1, column + 1)

    def scalar(self, event: Event) -> Place:
        """The text of a scalar with its quotes, and nothing else."""
        place = self.place(event)
        if event.anchor or event.tag:
            place = self._after_properties(place)
        if event.style in ("|", ">"):
            place = self._without_blank_end(place)
        return place if place.line <= len(self.lines) else self._at_the_end()

    def _at_the_end(self) -> Place:
        """Where the text ends; the fast reader puts a value that is missing there one line further."""
        line, column = len(self.lines), len(self.lines[-1]) + 1
        return Place(self.file, line, column, line, column)

    def _after_properties(self, place: Place) -> Place:
        """`&name !!str value` -> where the value begins."""
        line, column = place.line, place.column
        while (line, column) < (place.end_line, place.end_column):
            text = self.lines[line - 1]
            found = _PROPERTY.match(text, column - 1)
            end = found.end() if found else column - 1
            if end == len(text) and line < place.end_line:
                line, column = line + 1, 1
            elif end == column - 1:
                break
            else:
                column = end + 1
        return place._replace(line=line, column=column)

    def _without_blank_end(self, place: Place) -> Place:
        """A block scalar ends, for YAML, where the next thing begins; for a reader, with its last line."""
        line = place.end_line if place.end_column > 1 else place.end_line - 1
        while line > place.line and not self.lines[line - 1].strip():
            line -= 1
        return place._replace(end_line=line, end_column=len(self.lines[line - 1]) + 1)


def not_yaml(error: yaml.YAMLError, marks: Marks) -> Diagnostic:
    """What a reader that has given up should have said."""
    problem = str(getattr(error, "problem", None) or error).splitlines()[0]
    begin = getattr(error, "context_mark", None)
    said, remedy = next(
        ((said, remedy) for sign, said, remedy in _COMPLAINTS if sign in problem),
        (f"this is not YAML: {problem}", "quote the value that holds it, or look at the line above"),
    )
    place = marks.point(getattr(error, "problem_mark", None))
    related = (
        (Related(marks.point(begin), "what is being read begins here"),)
        if begin and marks.point(begin) != place
        else ()
    )
    return Diagnostic("yaml-syntax", Level.ERROR, said, place=place, related=related, remedy=remedy)
