"""Reads a bash launch script: which engine commands it starts, word by word, and what of it is not understood."""

import posixpath
from collections.abc import Mapping

from dsv4deploy.model.imported import Imported
from dsv4deploy.source.account import Account
from dsv4deploy.source.bash.bits import Source
from dsv4deploy.source.bash.shell import Shell
from dsv4deploy.source.bash.state import Read, State, given


def script(text: str, file: str, read: Read, known: Mapping[str, str] | None = None, folder: str = "") -> Imported:
    """Read the bash script `text`; nothing of it is run.

    `read` gives the files that it sources or starts, `known` the variables that its caller sets, `folder` the absolute
    folder that it lies in.
    """
    account = Account(beside=posixpath.dirname(file))
    state = State(variables={name: given(name, value) for name, value in (known or {}).items()})
    Shell(Source(file, text), account, state, read, folder).follow()
    return account.imported(file, "bash")
