"""Doors of the house for tests: look at a profile, render it, from a file or from text."""

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from dsv4deploy.flow import Asked, Knowledge, Looked, looked_at
from dsv4deploy.model.bundle import Bundle
from dsv4deploy.rim.catalogue_file import Catalogues
from dsv4deploy.rim.shipped import templates
from dsv4deploy.rim.texts import Files
from dsv4deploy.source.rulebook import catalogue
from dsv4deploy.stages.render import render

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted(path for path in ROOT.glob("examples/*/*.yaml") if path.parent.name != "compile-vs-kernel")
# Those that run under systemd, and so have a unit.
SUPERVISED = [path for path in EXAMPLES if "supervisor: process" not in path.read_text(encoding="utf-8")]
TODAY = "2026-11-29"


class Written:
    """Texts that exist only here; the rest is read from disk."""

    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = texts

    def read(self, path: str) -> bytes:
        """The bytes of `path`."""
        return self.texts[path].encode() if path in self.texts else Files().read(path)

    def inside(self, folder: str, name: str) -> bytes:
        """The bytes of the file `name` in `folder`."""
        path = f"{folder}/{name}"
        return self.texts[path].encode() if path in self.texts else Files().inside(folder, name)


@cache
def knowledge() -> Knowledge:
    """All that ships, on a fixed day."""
    return Knowledge(Catalogues(), catalogue(), TODAY)


def looked(profile: str | Path, *sets: str, variants: Sequence[str] = ()) -> Looked:
    """The profile in a file (a path) or in a text, looked at."""
    texts = Written({"profile.yaml": profile} if isinstance(profile, str) else {})
    path = "profile.yaml" if isinstance(profile, str) else str(profile)
    return looked_at(texts, knowledge(), Asked(path, tuple(variants), sets))


def rendered(profile: str | Path, *sets: str, variants: Sequence[str] = ()) -> Bundle:
    """The bundle of a profile that must be fine."""
    seen = looked(profile, *sets, variants=variants)
    assert not seen.report.blocks, [diagnostic.message for diagnostic in seen.report.diagnostics]
    return bundle_of(seen)


def bundle_of(seen: Looked) -> Bundle:
    """The bundle of a profile that was looked at."""
    return render(seen.profile, seen.launch, templates(), "0.0.0", seen.patches)


def text_of(bundle: Bundle, name: str) -> str:
    """One file of a bundle."""
    return next(artifact.text.decode() for artifact in bundle.files if artifact.path == name)


def argv(bundle: Bundle) -> list[str]:
    """The engine's argument words, as the manifest lists them."""
    words = bundle.facts["argv"]
    assert isinstance(words, tuple)
    return [str(word) for word in words]
