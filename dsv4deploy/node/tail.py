"""Reads a log while it grows: a file, through rotation, or the journal of one invocation of a unit."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import BinaryIO, Iterator

_CHUNK = 1 << 20
_SYNC_S = 20


class FileTail:
    """A log file from a byte offset on; what rotation moved away is read to its end first."""

    def __init__(self, path: str, offset: int = 0) -> None:
        self.path = path
        self.position = offset
        self._file: BinaryIO | None = None
        self._kept = b""

    def read(self) -> bytes:
        """What has come since the last call, at most one mebibyte; nothing if there is nothing."""
        if self._file is None and not self._open(self.position):
            return b""
        found = self._take()
        if found:
            return found
        return self._take() if self._rotated() else b""

    def rest(self) -> Iterator[bytes]:
        """All that is left; ask once nobody writes any more."""
        return iter(self.read, b"")

    def close(self) -> None:
        if self._file is not None:
            self._file.close()

    def _open(self, offset: int) -> bool:
        try:
            self._file = open(self.path, "rb", buffering=0)  # noqa: SIM115 (it stays open while it is followed)
        except OSError:
            return False
        self._file.seek(offset)
        self.position = offset
        return True

    def _take(self) -> bytes:
        if self._kept:
            found, self._kept = self._kept, b""
            return found
        found = self._file.read(_CHUNK) if self._file else b""
        self.position += len(found)
        return found

    def _rotated(self) -> bool:
        """Whether there is another file to go on with: a new one under the name, or the same one emptied."""
        if self._file is None:
            return False
        own = os.fstat(self._file.fileno())
        if own.st_size < self.position:
            self._file.close()
            return self._emptied()
        with contextlib.suppress(OSError):
            now = os.stat(self.path)
            if (now.st_ino, now.st_dev) != (own.st_ino, own.st_dev):
                self._file.close()
                return self._open(0)
        return False

    def _emptied(self) -> bool:
        """After copy and truncate, the rest of what was not read yet stands in the copy."""
        with contextlib.suppress(OSError), open(f"{self.path}.1", "rb") as copy:
            copy.seek(self.position)
            self._kept = copy.read()
        return self._open(0)


class JournalTail:
    """The journal of one invocation: what the unit's processes wrote, and what systemd says of the unit."""

    def __init__(self, invocation: str) -> None:
        match = [f"_SYSTEMD_INVOCATION_ID={invocation}", "+", f"INVOCATION_ID={invocation}"]
        self._command = ["journalctl", "--lines=all", "--output=cat", "--all", "--quiet", "--no-pager", *match]
        self._reader = self._journalctl("--follow")
        self._position = 0
        if self._reader.stdout is not None:
            os.set_blocking(self._reader.stdout.fileno(), False)

    def read(self) -> bytes:
        """What has come since the last call; nothing if there is nothing."""
        try:
            found = os.read(self._reader.stdout.fileno(), _CHUNK) if self._reader.stdout else b""
        except BlockingIOError:
            return b""
        self._position += len(found)
        return found

    def rest(self) -> Iterator[bytes]:
        """All that is left; ask once nobody writes any more.

        A process may be gone before journald has taken its last words from the pipe, or the reader them from journald.
        """
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            subprocess.run(["journalctl", "--sync"], stderr=subprocess.DEVNULL, timeout=_SYNC_S, check=False)
        seen = 0
        with self._journalctl() as reader:
            for chunk in iter(lambda: reader.stdout.read(_CHUNK) if reader.stdout else b"", b""):
                seen += len(chunk)
                new = seen - self._position
                if new > 0:
                    self._position = seen
                    yield chunk[-new:]

    def close(self) -> None:
        self._reader.terminate()
        self._reader.wait()
        if self._reader.stdout is not None:
            self._reader.stdout.close()

    def _journalctl(self, *words: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen([*self._command, *words], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)


def kernel_lines(since: float) -> list[str]:
    """What the kernel has said since that Unix time, as far as this user may read it."""
    command = ["journalctl", "--dmesg", "--output=cat", "--no-pager", "--quiet", f"--since=@{since:.0f}"]
    with contextlib.suppress(OSError, subprocess.TimeoutExpired):
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=20, check=False)
        return done.stdout.decode(errors="replace").splitlines()
    return []
