"""Where something was written: file, line and column, through every layer of a profile."""

from typing import NamedTuple


class Place(NamedTuple):
    """A range of characters in a named text.

    Lines and columns count from 1; the end column is the one after the last character.
    `file` is a path as the user gave it, or a layer of the command line such as `--set compile.mode=default`,
    whose text is what follows `--set `.
    """

    file: str
    line: int
    column: int
    end_line: int
    end_column: int

    @property
    def option(self) -> str:
        """`--set ` with its blank if this is a layer of the command line; empty if it is a file."""
        name, blank, _ = self.file.partition(" ")
        return name + blank if name.startswith("--") and blank else ""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"
