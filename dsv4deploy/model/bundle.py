"""What rendering makes: finished files, and the manifest that names them all."""

import hashlib
import json
from collections.abc import Mapping
from typing import NamedTuple

from dsv4deploy.model.launch import Json

# Sections of a profile that say how it is judged. No start reads them, so that a release takes them over as it runs.
JUDGING = ("health", "waivers")


class Artifact(NamedTuple):
    """One finished file.

    Attributes:
        path: where it stands in the bundle.
        text: its bytes.
        mode: as four octal digits.
        dest: where it goes on the node, if that is outside the release.
    """

    path: str
    text: bytes
    mode: str = "0644"
    dest: str | None = None

    @property
    def digest(self) -> str:
        """SHA-256 in hex."""
        return hashlib.sha256(self.text).hexdigest()


class Bundle(NamedTuple):
    """All files of one profile; the release on a node is this, under the name of its digest.

    `tool` is the version of dsv4deploy that made it; it is no part of the digest, because it changes nothing on a node.
    """

    name: str
    artifacts: tuple[Artifact, ...]
    facts: Mapping[str, Json]
    tool: str

    @property
    def digest(self) -> str:
        """SHA-256 in hex over everything that the manifest says, but for how the profile is judged."""
        content = self._content
        profile = content.get("profile")
        if isinstance(profile, Mapping):
            content["profile"] = {name: value for name, value in profile.items() if name not in JUDGING}
        return hashlib.sha256(_canonical(content)).hexdigest()

    @property
    def manifest(self) -> Artifact:
        """`manifest.json`: the digest first, then what it is made of."""
        document = {"schema": "manifest/1", "digest": self.digest, "tool": self.tool, **self._content}
        text = json.dumps(document, indent=2, ensure_ascii=False) + "\n"
        return Artifact("manifest.json", text.encode(), "0640")  # it repeats the environment

    @property
    def files(self) -> tuple[Artifact, ...]:
        """The artifacts and the manifest."""
        return (*self.artifacts, self.manifest)

    @property
    def _content(self) -> dict[str, Json]:
        files = tuple({"path": a.path, "mode": a.mode, "sha256": a.digest, "dest": a.dest} for a in self.artifacts)
        return {"name": self.name, **self.facts, "files": files}


def readable(data: bytes) -> str | None:
    """The text of a file; None if it is none, such as a wheel or a compiled extension."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _canonical(document: Mapping[str, Json]) -> bytes:
    return json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
