"""What stops a command that has no diagnostic to show: a file that cannot be read, a tool that is missing."""

from enum import IntEnum


class Exit(IntEnum):
    """The exit codes of every command."""

    FINE = 0
    FOUND = 1
    USAGE = 2
    UNREADABLE = 3
    APPLY_FAILED = 4
    ROLLED_BACK = 5
    NOT_ROLLED_BACK = 6
    CHANGES = 10
    INTERRUPTED = 130


class Trouble(Exception):  # noqa: N818 (an everyday word for an expected failure; a bug is an exception of another kind)
    """An expected failure, told in one line and a remedy; the command line prints it and exits with `code`."""

    def __init__(self, message: str, remedy: str = "", code: Exit = Exit.UNREADABLE) -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy
        self.code = code
