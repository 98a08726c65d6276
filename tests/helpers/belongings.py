"""What belongs to one test alone: its processes, told by the folder they run in, and its ports."""

import contextlib
import os
import random
import signal
import socket
from pathlib import Path

# Below the ports that the kernel gives to whoever connects to somebody, and beside the engine's own.
_PORTS = range(10_240, 29_000, 2)
_given: set[int] = set()


def free_port() -> int:
    """A port that nobody has and that no other test of this run was given; the next one is free too."""
    while True:
        port = random.choice(_PORTS)  # noqa: S311 (tests that run side by side should not meet, nothing is secret)
        if port not in _given and _free(port) and _free(port + 1):
            _given.add(port)
            return port


def end_all_in(folder: Path) -> None:
    """End every process that runs in `folder` or was given a path in it, and nobody else's whatever its pid."""
    for process in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            words = (process / "cmdline").read_bytes().decode(errors="replace")
            if f"{folder}/" in words or (process / "cwd").readlink().is_relative_to(folder):
                os.kill(int(process.name), signal.SIGKILL)


def _free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
