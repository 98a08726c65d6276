"""Where the things of one deployed server are on a node, and what is written down about it."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any, NamedTuple

from dsv4deploy.node.files import read_json, sync, text
from dsv4deploy.node.procs import now
from dsv4deploy.node.trouble import Trouble

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.@-]{0,99}")
_DIGEST = re.compile(r"[0-9a-f]{64}")


def root_of(given: str | None) -> Path:
    """The folder of all deployments: the one asked for, or the usual one of root or of a normal user."""
    if given:
        return Path(given)
    return Path("/opt/dsv4deploy") if os.geteuid() == 0 else Path.home() / ".local/share/dsv4deploy"


class Place(NamedTuple):
    """The folder of one deployed server.

    `releases/<digest>` are bundles, `current` links to one of them, `unconfirmed` exists while a start is on trial,
    `aside` while the server is stopped for somebody's experiment, `spare` keeps room on the disk for going back,
    `taken-over` what stood in our place before, `history` has one JSON object a line, `lock` says who works here,
    `run` belongs to the process supervisor.
    """

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def releases(self) -> Path:
        return self.folder / "releases"

    @property
    def link(self) -> Path:
        return self.folder / "current"

    @property
    def unconfirmed(self) -> Path:
        return self.folder / "unconfirmed"

    @property
    def aside(self) -> Path:
        return self.folder / "aside"

    @property
    def spare(self) -> Path:
        return self.folder / "spare"

    @property
    def taken_over(self) -> Path:
        return self.folder / "taken-over"

    @property
    def lock(self) -> Path:
        return self.folder / "lock"

    @property
    def tool(self) -> Path:
        return self.folder / "node.pyz"

    @property
    def run(self) -> Path:
        return self.folder / "run"

    def release(self, digest: str) -> Path:
        """The folder of a release; `digest` must be a full one.

        Raises:
            Trouble: it is no digest.
        """
        if not _DIGEST.fullmatch(digest):
            raise Trouble("usage", f"{digest!r} is no digest of a release")
        return self.releases / digest

    def current(self) -> str | None:
        """The digest that `current` links to; None if it links to nothing."""
        try:
            target = Path(os.readlink(str(self.link))).name
        except OSError:
            return None
        return target if _DIGEST.fullmatch(target) else None

    def installed(self) -> list[str]:
        """The digests of the releases here, the newest first."""
        if not self.releases.is_dir():
            return []
        found = [one for one in self.releases.iterdir() if _DIGEST.fullmatch(one.name)]
        return [one.name for one in sorted(found, key=lambda one: (-one.stat().st_mtime, one.name))]

    def full(self, prefix: str) -> str:
        """The one installed release that starts with `prefix`.

        Raises:
            Trouble: none does, or several do.
        """
        found = [one for one in self.installed() if one.startswith(prefix)]
        if len(found) != 1:
            here = ", ".join(one[:12] for one in self.installed()) or "none"
            raise Trouble(
                "no-release",
                f"{len(found)} releases of {self.name} start with {prefix!r}",
                f"choose one of those on this node: {here}",
            )
        return found[0]

    def manifest(self, digest: str) -> dict[str, Any]:
        """The manifest of an installed release.

        Raises:
            Trouble: the release is not here.
        """
        found = read_json(self.release(digest) / "manifest.json")
        if found is None:
            raise Trouble("no-release", f"release {digest[:12]} of {self.name} is not on this node", "apply it first")
        return found

    def pending(self) -> dict[str, Any] | None:
        """What is on trial: `to`, `from`, `since`, `who`, `boot_id`, `deadline` (seconds of uptime); None if nothing."""
        return read_json(self.unconfirmed)

    def history(self) -> list[dict[str, Any]]:
        """What was done here, the oldest first; a line that a power cut left half written is left out."""
        entries = []
        for line in text(self.folder / "history").splitlines():
            try:
                entry = json.loads(line)
            except ValueError:
                continue
            if isinstance(entry, dict):
                entries.append(entry)
        return entries

    def remember(self, verb: str, **more: object) -> None:
        """Add one entry to the history, so that it lasts."""
        line = json.dumps({"at": now(), "verb": verb, **more}, sort_keys=True)
        path = self.folder / "history"
        with path.open("ab") as history:
            # A half-written last line must not swallow this one.
            history.write(f"\n{line}\n".encode() if _torn(path) else f"{line}\n".encode())
            history.flush()
            os.fsync(history.fileno())
        sync(self.folder)


def _torn(path: Path) -> bool:
    with path.open("rb") as source:
        size = source.seek(0, os.SEEK_END)
        if not size:
            return False
        source.seek(size - 1)
        return source.read(1) != b"\n"


def account(manifest: dict[str, Any]) -> str | None:
    """The user that the server runs as; None for whoever applies.

    Without root a process can only run as oneself, so a user that the profile did not name by itself does not count.
    """
    named: str | None = manifest["service"].get("user")
    alone = manifest["service"]["supervisor"] == "process" and os.geteuid() != 0
    explicit = "user" in ((manifest.get("profile") or {}).get("service") or {})
    return None if alone and not explicit else named


def place_of(document: dict[str, Any]) -> Place:
    """The place that a request names.

    Raises:
        Trouble: the name is missing or could leave the folder.
    """
    name = document.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise Trouble("usage", f"{name!r} is no name of a deployment")
    return Place(root_of(document.get("root")) / name)


def places(root: Path) -> list[Place]:
    """Every deployment below `root`."""
    if not root.is_dir():
        return []
    return [Place(one) for one in sorted(root.iterdir()) if (one / "releases").is_dir()]
