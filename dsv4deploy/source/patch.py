"""A patch folder becomes a patch, or a diagnostic for everything that is wrong with it, in its place."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from dsv4deploy.model.diagnostic import Diagnostic, Level, Refused, Related
from dsv4deploy.model.document import Document, KeyPath, Merged
from dsv4deploy.model.patch import About, Part, Patch
from dsv4deploy.model.place import Place
from dsv4deploy.model.ports import Folders
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.node import diff, wheel
from dsv4deploy.source.document import load
from dsv4deploy.source.validate import validate

ABOUT = "patch.yaml"
_EFFECT = "nothing of the patch could be laid"
_MADE = {
    "diff": "make it with `git diff` or `diff -u` against the package",
    "wheel": "take the wheel as its builder wrote and named it",
    "tuning": "write JSON",
}


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
        about = validate(written, About, "patch")
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
    claims: dict[str, KeyPath] = field(default_factory=dict)
    sources: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def read(self) -> Read:
        found: list[Diagnostic] = [*self._name()]
        parts: list[Part] = []
        for at, name, target, wanted in self._listed():
            try:
                part = Part(name, self.texts.inside(self.folder, name), target)
            except Trouble as trouble:
                remedy = trouble.remedy or f"put the file there, or correct its name in {ABOUT}"
                found.append(self._wrong("patch-file", trouble.message, at, remedy))
                continue
            if wanted and part.digest != wanted:
                found.append(self._other_digest(part, wanted, at))
            try:
                found += self._claimed(self._touched(part), at)
            except (diff.DiffError, wheel.WheelError) as error:
                found.append(self._unreadable(part, error, at))
            parts.append(part)
        patch = None if found else Patch(self.about, self.folder, tuple(parts), tuple(self.claims))
        return Read(patch, tuple(found), replace(self.written, sources={**self.written.sources, **self.sources}))

    def _claimed(self, touched: list[str], at: KeyPath) -> Iterator[Diagnostic]:
        """Note who changes each file; a second one is wrong."""
        for path in touched:
            first = self.claims.setdefault(path, at)
            place = self.written.place(first)
            if first != at or touched.count(path) > 1:
                told = self._wrong("patch-file", f"{self.about.name} changes {path} twice", at, "keep one of the two")
                yield replace(told, related=(Related(place, "changed here first"),) if place and first != at else ())
                return

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
        platforms = wheel.tags(part.name).platform
        if not any(one == "any" or "linux" in one for one in platforms):
            raise wheel.WheelError(f"it is for {'.'.join(platforms)}, and nodes run Linux")
        held = wheel.contents(part.data)
        if not any(path.startswith(f"{package}/") for path in held):
            raise wheel.WheelError(f"it does not hold the package {package}")
        return held

    def _name(self) -> list[Diagnostic]:
        own = self.folder.rstrip("/").rsplit("/", 1)[-1]
        if own == self.about.name:
            return []
        told = f"the patch in the folder {own} calls itself {self.about.name}"
        effect = "the profile and the nodes would speak of it under two names"
        return [self._wrong("patch-name", told, ("name",), f"write name: {own}, or rename the folder", effect)]

    def _other_digest(self, part: Part, wanted: str, at: KeyPath) -> Diagnostic:
        told = f"{part.name} is not the file that the patch names: its SHA-256 begins {part.digest[:12]}, not {wanted[:12]}"
        remedy = f"bring the file back, or write sha256: {part.digest}"
        return self._wrong(
            "patch-digest", told, (*at, "sha256"), remedy, "other code than the one that was tried would run"
        )

    def _unreadable(self, part: Part, error: Exception, at: KeyPath) -> Diagnostic:
        told = self._wrong("patch-file", f"{part.name}: {error}", at, _MADE[self.about.kind])
        line = getattr(error, "line", 0)
        if not line:
            return told
        path = f"{self.folder}/{part.name}"
        self.sources[path] = tuple(part.data.decode("utf-8", "replace").splitlines())
        return replace(told, place=Place(path, line, 1, line, 1 + len(self.sources[path][line - 1])))

    def _wrong(self, rule: str, message: str, at: KeyPath, remedy: str, effect: str = _EFFECT) -> Diagnostic:
        place = self.written.place(at)
        return Diagnostic(rule, Level.ERROR, message, (self.about.name,), place, effect=effect, remedy=remedy)


def _see_json(part: Part) -> None:
    try:
        json.loads(part.data)
    except ValueError as error:
        raise wheel.WheelError(f"it is no JSON: {error}") from None


def _merged(document: Document) -> Merged:
    tree = document.tree if isinstance(document.tree, dict) else {}
    return Merged(tree, document.keys, document.values, document.sources, (document.file,))
