"""Writes down what an apply did: one JSON file each, beside the profile, never in git."""

import getpass
import json
import os
import platform
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dsv4deploy.model.trouble import Trouble
from dsv4deploy.rim.project import FOLDER


class Record:
    """One apply, rollback or other act; events are added while it goes on, so that a killed controller leaves them too."""

    def __init__(self, verb: str, folder: Path = FOLDER) -> None:
        """Begin the record.

        Raises:
            Trouble: it cannot be written; nothing is done that leaves no record.
        """
        moment = datetime.now(UTC)
        self.lost: str | None = None
        self._began = time.monotonic()
        self.path = folder / "applies" / f"{moment:%Y%m%dT%H%M%S}-{os.getpid()}-{verb}.jsonl"
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            (folder / ".gitignore").write_text("*\n")
            self._file = self.path.open("a", encoding="utf-8")
        except OSError as error:
            raise Trouble(
                f"{self.path} cannot be written: {error.strerror}", "make the folder writable; no node was touched"
            ) from None
        self.add({"schema": "record/1", "verb": verb, "at": f"{moment:%Y-%m-%dT%H:%M:%SZ}", "who": who()})
        if self.lost:
            raise Trouble(f"{self.path} cannot be written: {self.lost}", "make room; no node was touched")

    def add(self, event: Mapping[str, Any]) -> None:
        """Add one event, with the seconds since the beginning; what cannot be written is lost, and the work goes on."""
        try:
            self._file.write(json.dumps({"t": round(time.monotonic() - self._began, 2), **event}) + "\n")
            self._file.flush()
        except OSError as error:
            self.lost = self.lost or error.strerror

    def close(self) -> None:
        """End the record; `lost` says why it is not whole, if it is not."""
        try:
            self._file.close()
        except OSError as error:
            self.lost = self.lost or error.strerror


def who() -> str:
    """Whoever sits here, as others should read it: `anna@desk`."""
    return f"{getpass.getuser()}@{platform.node()}"


def controller() -> dict[str, Any]:
    """What tells this very process apart from any other, here and after a reboot."""
    return {"boot_id": _boot_id(), "pid": os.getpid(), "start": _start(os.getpid())}


def is_gone(other: Mapping[str, Any] | None) -> bool:
    """Whether `other` was a process of this machine since its last boot, and is not there any more."""
    if not other or other.get("boot_id") != _boot_id():
        return False
    return _start(int(other.get("pid") or 0)) != other.get("start")


def _boot_id() -> str:
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def _start(pid: int) -> int | None:
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else int(fields[19])
