"""What the tool on the node tells instead of a traceback."""

from __future__ import annotations


class Trouble(Exception):  # noqa: N818 (an everyday word for an expected failure; a bug is an exception of another kind)
    """An expected failure: a stable word, one line, and what to do.

    Words: `usage`, `broken-upload`, `locked`, `moved`, `foreign-file`, `disk`, `no-release`, `wont-stop`, `port-taken`,
    `wedged-card`, `wont-start`, `patch-misfit`, `patch-shared`, `system`.
    """

    def __init__(self, word: str, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.word = word
        self.message = message
        self.remedy = remedy
