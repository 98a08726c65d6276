"""Looks at things, and starts things, as the user that a server runs as."""

from __future__ import annotations

import json
import os
import pwd
from typing import Any, Callable, Dict

from dsv4deploy.node.trouble import Trouble

Seen = Dict[str, Any]


def become(name: str) -> None:
    """Turn this process into one of that user; only root can."""
    user = pwd.getpwnam(name)
    os.initgroups(name, user.pw_gid)
    os.setgid(user.pw_gid)
    os.setuid(user.pw_uid)


def as_user(name: str | None, look: Callable[[], Seen]) -> Seen:
    """What `look` sees in a child that has become the user; as oneself for no name, or without root.

    Raises:
        Trouble: it could not look to the end.
    """
    if not name or os.geteuid() != 0:
        return look()
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        code = 1
        try:  # whatever happens, the child must not go on with what only its parent is to do
            become(name)
            with os.fdopen(writer, "w") as answer:
                json.dump(look(), answer)
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    with os.fdopen(reader) as answer:
        text = answer.read()
    if os.waitpid(child, 0)[1]:
        raise Trouble("system", f"nothing could be looked at as {name}", "see whether the user may log in")
    seen: Seen = json.loads(text)
    return seen
