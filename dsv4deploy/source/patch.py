"""A patch folder becomes a patch, or a diagnostic for everything that is wrong with it, in its place."""

import json
from collections.abc import Iterator
from dataclasses import dataclass

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused
from dsv4deploy.model.document import Document, KeyPath, Merged
from dsv4deploy.model.patch import About, Part, Patch
from dsv4deploy.model.place import Place
from dsv4deploy.model.ports import Folders
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.node import diff, wheel
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import validate

ABOUT = "patch.yaml"


@dataclass(frozen=True, slots=True)
class Read:
    """A patch folder that was read: the patch unless something is wrong, and the places of its words."""

    patch: Patch | None
    diagnostics: tuple[Diagnostic, ...]
    written: Merged


def read_patch(texts: Folders, folder: str) -> Read:
    """The patch in `folder`, with everything that is wrong with it.

    Raises:
        Trouble: there is no patch.yaml that can be read.
    """
    path = f"{folder}/{ABOUT}"
    try:
        document = load(texts.inside(folder, ABOUT), path)
        written = _merged(document)
        about = validate(written, About)
    except Refused as refused:
        return Read(None, refused.diagnostics, Merged({}, sources=refused.sources))
    reading = _Reading(texts, folder, written, about)
    return reading.read()


@dataclass(slots=True)
class _Reading:
    texts: Folders
    folder: str
    written: Merged
    about: About

    def read(self) -> Read:
        about = self.about
        found: list[Diagnostic] = [*self._name()]
        parts, touches = [], []
        for at, name, target, wanted in self._listed():
            try:
                part = Part(name, self.texts.inside(self.folder, name), target)
            except Trouble as trouble:
                found.append(self._wrong("patch-file", trouble.message, at, trouble.remedy))
                continue
            if wanted and part.digest != wanted:
                found.append(self._other_digest(part, wanted, at))
            try:
                touches += self._touched(part)
            except (diff.DiffError, wheel.WheelError) as error:
                found.append(self._unreadable(part, error, at))
            parts.append(part)
        if len(touches) != len(set(touches)):
            double = next(path for path in touches if touches.count(path) > 1)
            found.append(self._wrong("patch-file", f"{about.name} changes {double} twice", (), "keep one"))
        patch = None if found else Patch(about, self.folder, tuple(parts), tuple(touches))
        return Read(patch, tuple(found), self.written)

    def _listed(self) -> Iterator[tuple[KeyPath, str, str | None, str | None]]:
        """Each file of the patch: where it is named, its name, where it goes, its digest."""
        for index, file in enumerate(self.about.files):
            yield ("files", index), file.source, file.path, file.sha256
        for index, one in enumerate(self.about.diffs):
            yield ("diffs", index), one.file, None, one.sha256
        if self.about.wheel:
            yield ("wheel",), self.about.wheel.file, None, self.about.wheel.sha256

    def _touched(self, part: Part) -> list[str]:
        package = self.about.fits.package
        if part.target:
            if self.about.kind == "tuning":
                _see_json(part)
            return [f"{package}/{part.target}"]
        if self.about.kind == "diff":
            return [f"{package}/{path}" for _, path in diff.touched(diff.parse(part.data), package)]
        wheel.tags(part.name)
        held = wheel.contents(part.data)
        if not any(path.startswith(f"{package}/") for path in held):
            raise wheel.WheelError(f"it does not hold the package {package}")
        return held

    def _name(self) -> list[Diagnostic]:
        own = self.folder.rstrip("/").rsplit("/", 1)[-1]
        if own == self.about.name:
            return []
        told = f"the patch in the folder {own} calls itself {self.about.name}"
        return [self._wrong("patch-name", told, ("name",), f"name: {own}")]

    def _other_digest(self, part: Part, wanted: str, at: KeyPath) -> Diagnostic:
        told = f"{part.name} is not the file that the patch names: its SHA-256 begins {part.digest[:12]}, not {wanted[:12]}"
        return self._wrong("patch-digest", told, (*at, "sha256"), f"sha256: {part.digest}")

    def _unreadable(self, part: Part, error: Exception, at: KeyPath) -> Diagnostic:
        line = getattr(error, "line", 0)
        if not line:
            return self._wrong("patch-file", f"{part.name}: {error}", at, "")
        place = Place(f"{self.folder}/{part.name}", line, 1, line, 1)
        return Diagnostic("patch-file", Level.ERROR, f"{part.name}: {error}", (self.about.name,), place)

    def _wrong(self, rule: str, message: str, at: KeyPath, remedy: str) -> Diagnostic:
        return Diagnostic(rule, Level.ERROR, message, (self.about.name,), self.written.place(at), remedy=remedy)


def _see_json(part: Part) -> None:
    try:
        json.loads(part.data)
    except ValueError as error:
        raise wheel.WheelError(f"it is no JSON: {error}") from None


def _merged(document: Document) -> Merged:
    tree = document.tree if isinstance(document.tree, dict) else {}
    return Merged(tree, document.keys, document.values, document.sources, (document.file,))
