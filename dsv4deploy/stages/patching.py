"""The patches of a profile: read from their folders, judged together and against the engine before anything is touched."""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from packaging.specifiers import SpecifierSet

from dsv4deploy.model.diagnostic import Diagnostic, Level, Related, Unknown
from dsv4deploy.model.document import KeyPath, Merged
from dsv4deploy.model.facts import Facts
from dsv4deploy.model.launch import Json, Laid, Provided
from dsv4deploy.model.patch import Patch
from dsv4deploy.model.place import Place
from dsv4deploy.model.ports import Folders
from dsv4deploy.model.profile import Profile
from dsv4deploy.model.trouble import Trouble
from dsv4deploy.source.patch import Read, read_patch
from dsv4deploy.stages.patched import Patched
from dsv4deploy.stages.releases import version

FOLDER = "patches"
LISTED: KeyPath = ("kernels", "patches")


def patched(texts: Folders, path: str, profile: Profile, merged: Merged, facts: Facts) -> Patched:
    """Read and judge the patches that the profile at `path` names."""
    reading = _Judging(profile, merged, facts)
    for index, name in enumerate(profile.kernels.patches):
        reading.read(texts, folder_of(path, name), index)
    reading.judge()
    patches = tuple(read.patch for read in reading.reads.values() if read.patch)
    laid = {
        read.patch.about.name: Laid(read.patch.about.kind, read.patch.digest, read.patch.touches, reading.place(index))
        for index, read in reading.reads.items()
        if read.patch
    }
    sources = {file: lines for read in reading.reads.values() for file, lines in read.written.sources.items()}
    told, unknown = tuple(reading.diagnostics), tuple(reading.unknown)
    unread = len(patches) < len(profile.kernels.patches)
    return Patched(patches, laid, tuple(_provided(patches)), told, unknown, sources, unread)


def folder_of(profile: str, name: str) -> str:
    """Where a patch is: a name alone is a folder in `patches/` beside the profile, a path is relative to the profile."""
    beside = name if "/" in name else f"{FOLDER}/{name}"
    return posixpath.normpath(posixpath.join(posixpath.dirname(profile), beside))


def entries(patches: Iterable[Patch]) -> tuple[Mapping[str, Json], ...]:
    """What the manifest says of the patches: all that a node needs to lay them and to see that they are right."""
    return tuple(
        {
            "name": patch.about.name,
            "digest": patch.digest,
            "kind": patch.about.kind,
            "package": patch.about.fits.package,
            "distribution": patch.about.fits.distribution or patch.about.fits.package,
            "versions": patch.about.fits.versions,
            "python": patch.about.fits.python,
            "requires": dict(patch.about.fits.requires),
            "arch": patch.about.fits.arch,
            "before": dict(patch.about.fits.files),
            "fuzz": patch.about.fuzz,
            "toggle": patch.about.toggle.name if patch.about.toggle else None,
            "parts": tuple({"name": p.name, "target": p.target, "sha256": p.digest} for p in patch.parts),
        }
        for patch in patches
    )


def proofs(patches: Iterable[Patch]) -> tuple[Mapping[str, Json], ...]:
    """How a node can see that each patch is loaded, and that its code is active once the server runs."""
    return tuple(
        {
            "patch": patch.about.name,
            "package": patch.about.fits.package,
            "module": patch.about.proof.module,
            "symbol": patch.about.proof.symbol,
            "toggle": patch.about.toggle.name if patch.about.toggle else None,
            "touches": patch.touches if patch.about.kind != "wheel" else (),
            "log": patch.about.proof.log,
            "server_info": patch.about.proof.server_info.model_dump() if patch.about.proof.server_info else None,
        }
        for patch in patches
    )


def _provided(patches: Iterable[Patch]) -> Iterator[Provided]:
    for patch in patches:
        about = patch.about
        for one in about.provides:
            yield Provided(one.because, one.setting, one.env, one.value, one.evidence or "", about.name)
        if about.toggle and not any(one.env == about.toggle.name for one in about.provides):
            yield Provided("the patched code reads it", env=about.toggle.name, by=about.name)


@dataclass(slots=True)
class _Judging:
    profile: Profile
    merged: Merged
    facts: Facts
    reads: dict[int, Read] = field(default_factory=dict)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    unknown: list[Unknown] = field(default_factory=list)

    def read(self, texts: Folders, folder: str, index: int) -> None:
        try:
            read = read_patch(texts, folder)
        except Trouble as trouble:
            told = f"patch {self.profile.kernels.patches[index]}: {trouble.message}"
            self._tell(
                "patch-missing",
                told,
                self.place(index),
                "no such patch",
                effect="the engine would run without it",
                remedy=trouble.remedy or PATCH_FOLDER,
            )
            return
        self.reads[index] = read
        self.diagnostics += read.diagnostics

    def judge(self) -> None:
        good = [(index, read, read.patch) for index, read in self.reads.items() if read.patch]
        self._collisions([(index, patch) for index, _, patch in good])
        for index, read, patch in good:
            self._engine(index, read, patch)
            self._arch(index, read, patch)
            self._versions(index, read, patch)
            self._container(index, patch)
            self._drop(index, read, patch)

    def _collisions(self, patches: list[tuple[int, Patch]]) -> None:
        owners: dict[str, tuple[int, Patch]] = {}
        told = set()
        for index, patch in patches:
            for path in patch.touches:
                before, other = owners.setdefault(path, (index, patch))
                if before != index and (before, index) not in told:
                    told.add((before, index))
                    first = self.place(before)
                    if patch.folder == other.folder:
                        self._twice(index, patch, first)
                        continue
                    self._tell(
                        "patches-collide",
                        f"{other.about.name} and {patch.about.name} both change {path}",
                        self.place(index),
                        "changes it too",
                        related=(Related(first, "changed by this one first"),) if first else (),
                        effect="only one of the two would be left, and neither was made for the other",
                        remedy="make one patch of the two",
                    )

    def _twice(self, index: int, patch: Patch, first: Place | None) -> None:
        self._tell(
            "patches-collide",
            f"{patch.about.name} is listed twice",
            self.place(index),
            "again",
            related=(Related(first, "listed here first"),) if first else (),
            effect="it cannot be laid over itself",
            remedy="list it once",
        )

    def _engine(self, index: int, read: Read, patch: Patch) -> None:
        fits, engine = patch.about.fits, self.profile.engine
        number = version(engine.version)
        if (fits.distribution or fits.package) != "sglang" or not fits.versions or number is None:
            return
        if patch.about.kind != "wheel" and not SpecifierSet(fits.versions).contains(number, prereleases=True):
            self._misfit(index, read, patch, ("fits", "versions"), f"SGLang {fits.versions}, not {engine.version}")

    def _arch(self, index: int, read: Read, patch: Patch) -> None:
        arch, archs = self.profile.hardware.arch or self.facts.arch, patch.about.fits.arch
        if archs and arch and arch not in archs:
            self._misfit(index, read, patch, ("fits", "arch"), f"{', '.join(archs)}, not {arch}")
        elif archs and not arch:
            self.unknown.append(Unknown("patch-misfit", ("arch",)))

    def _versions(self, index: int, read: Read, patch: Patch) -> None:
        for name, wanted in patch.about.fits.requires.items():
            fact = _VERSION_FACTS.get(name)
            has = getattr(self.facts, fact) if fact else None
            number = version(has) if has else None
            if fact and number is None:
                self.unknown.append(Unknown("patch-misfit", (fact,)))
            elif number is not None and not SpecifierSet(wanted).contains(number, prereleases=True):
                self._misfit(index, read, patch, ("fits", "requires", name), f"{name} {wanted}, not {has}")

    def _container(self, index: int, patch: Patch) -> None:
        container = self.profile.engine.container
        if container is None:
            return
        about = patch.about
        if self.profile.kernels.in_place and index == min(self.reads):
            self._tell(
                "patch-in-container",
                "nothing is patched in place in a container: what is changed there is gone with it",
                self.merged.place(("kernels", "in_place")),
                "not possible in a container",
                effect="the patches would be mounted over the image all the same",
                remedy="remove in_place: the files are mounted over those of the image",
            )
        if about.kind in {"diff", "wheel"}:
            self._tell(
                "patch-in-container",
                f"{about.name} is of kind {about.kind}, which cannot be mounted over the files of an image",
                self.place(index),
                "not possible in a container",
                effect="the engine would run without it",
                remedy="make it an overlay of whole files, or build it into the image",
            )
        elif about.fits.package not in container.packages:
            self._tell(
                "patch-in-container",
                f"where is {about.fits.package} in the image? {about.name} is mounted over its files",
                self.merged.place(("engine", "container")),
                "says no folder for it",
                effect="the engine would run without it",
                remedy=f"packages: {{{about.fits.package}: /folder/of/it/in/the/image}}",
            )

    def _drop(self, index: int, read: Read, patch: Patch) -> None:
        drop, number = patch.about.drop_when, version(self.profile.engine.version)
        if drop and number and SpecifierSet(drop.versions).contains(number, prereleases=True):
            place = read.written.place(("drop_when",))
            self.diagnostics.append(
                Diagnostic(
                    "patch-unnecessary",
                    Level.NOTE,
                    f"SGLang {self.profile.engine.version} needs {patch.about.name} no more: {drop.because}",
                    (patch.about.name,),
                    self.place(index),
                    "can go",
                    (Related(place, "says when it can go"),) if place else (),
                    remedy=f"remove {patch.about.name} from kernels.patches",
                )
            )

    def _misfit(self, index: int, read: Read, patch: Patch, at: KeyPath, told: str) -> None:
        place = read.written.place(at)
        self._tell(
            "patch-misfit",
            f"{patch.about.name} was made for {told}",
            self.place(index),
            "does not fit",
            related=(Related(place, "fits only this"),) if place else (),
            effect="patched code would run beside code that it was not made for",
            remedy="use a patch that was made for this engine, or remove it",
        )

    def _tell(
        self,
        rule: str,
        message: str,
        place: Place | None,
        label: str,
        *,
        related: tuple[Related, ...] = (),
        effect: str = "",
        remedy: str = "",
    ) -> None:
        self.diagnostics.append(
            Diagnostic(
                rule, Level.ERROR, message, ("profile:kernels.patches",), place, label, related, effect, (), remedy
            )
        )

    def place(self, index: int) -> Place | None:
        """Where the profile names the patch of that number."""
        return self.merged.place((*LISTED, index))


# Facts that bear the version of a distribution.
_VERSION_FACTS = {
    "torch": "torch",
    "triton": "triton",
    "flashinfer-python": "flashinfer",
    "sgl-kernel": "sgl_kernel",
    "nvidia-nccl-cu12": "nccl",
    "nvidia-nccl-cu13": "nccl",
}
PATCH_FOLDER = "a patch is a folder with a patch.yaml: patches/NAME beside the profile, or a path relative to it"
